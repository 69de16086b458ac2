import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createOutboxPublisher, type OutboxPublisher } from '@hermes-fleet/events';
import {
  CALLER,
  dispatching,
  relayFleet,
  type Script,
  spending,
  type TestProfile,
  untilAborted,
} from '@hermes-fleet/gateway/testing';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { deadline } from '@hermes-fleet/protocol/testing';
import { startTestConsole } from '../testing/console.ts';
import type { BlockedDocument } from './http/blocked.ts';
import type { SpendingDocument } from './http/spending.ts';
import type { TasksDocument } from './http/task-list.ts';
import type { TaskDocument } from './http/task-page.ts';

const STATES = ['done', 'partial', 'blocked', 'error', 'canceled'];

/** A worker whose brief says what becomes of the task. */
const worker: Script = async (task, context) => {
  const { brief } = task.dispatch;
  if (brief === 'wait') return untilAborted(task, context);
  const done = await spending(Number(task.dispatch.task.taskId.length) + 7)(task, context);
  if (brief === 'fail') throw new Error('no more');
  return brief === 'partly' ? { ...done, status: 'partial', remaining: ['the rest'] } : done;
};

const auto = { routing: { target: 'auto' } };
const impossible = { requirements: { required_mcp: ['nope'] } };

async function fleetOnBus(t: TestContext) {
  const console = await startTestConsole(t);
  const made = await relayFleet(t, { neo: { script: worker }, trinity: { script: worker } });
  const profiles = [made.orchestrator, made.worker('neo'), made.worker('trinity')];
  const publishers = profiles.map(
    ({ name, ledger }): OutboxPublisher =>
      createOutboxPublisher({
        connection: { servers: [console.nats.url], name: `${name}/outbox` },
        source: ledger.outbox,
        subjectPrefixes: [`fleet.task.${name}`],
        log: silentLog,
        clock: systemClock,
      }),
  );
  t.after(async () => void (await Promise.all(publishers.map((publisher) => publisher.close()))));
  const flush = async (): Promise<void> => {
    for (const publisher of publishers) assert.equal(await publisher.flush(30_000), true);
  };
  return { console, profiles, switchProfile: made.orchestrator, neo: made.worker('neo'), flush };
}

/** One task of every kind, at the orchestrator and at a worker. Resolves when all have ended. */
async function round(at: TestProfile, rest: object): Promise<void> {
  const send = (brief: string, more: object = {}, task: object = {}): Promise<string> =>
    at.send(dispatching({ ...task }, { brief, ...rest, ...more }));
  const ids = [await send('do it'), await send('partly'), await send('fail')];
  ids.push(await send('blocked', impossible, { token_budget: 700 }));
  const waiting = await send('wait');
  await at.event(waiting, 'started');
  await at.gateway.cancel(waiting, CALLER);
  await Promise.all([...ids, waiting].map((id) => at.result(id)));
}

/** The sum of the samples of a counter of a profile. */
async function counter(profile: TestProfile, pattern: RegExp): Promise<number> {
  const page = await profile.metrics();
  return [...page.matchAll(pattern)].reduce((sum, [, value]) => sum + Number(value), 0);
}

const endsIn = ({ ledger }: TestProfile, state: string): number =>
  ledger.outbox.read(0, 10_000).filter(({ subject }) => subject.endsWith(`.${state}`)).length;
const sumOf = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((sum, item) => sum + of(item), 0);

test(
  'states, tokens, blocked share and tokens saved are those of the ledgers, also after a restart',
  deadline,
  async (t) => {
    const { console: first, profiles, switchProfile, neo, flush } = await fleetOnBus(t);
    await round(switchProfile, auto);
    await flush();
    await first.stop();
    await Promise.all([round(switchProfile, auto), round(neo, {})]);
    const fleet = await first.restart();
    await flush();
    const browser = await fleet.signIn();
    const ended = sumOf(profiles, (profile) => sumOf(STATES, (state) => endsIn(profile, state)));
    const all = await fleet.until<TasksDocument>(
      browser,
      `/api/tasks?parts=true&limit=200&state=${STATES.join(',')}`,
      ({ total }) => total === ended,
    );
    for (const profile of profiles) {
      for (const state of STATES) {
        const shown = all.tasks.filter(
          (task) => task.profile === profile.name && task.state === state,
        ).length;
        assert.equal(shown, endsIn(profile, state), `${profile.name} ${state}`);
      }
    }

    const spending = await browser.json<SpendingDocument>('/api/spending?by=profile');
    for (const profile of profiles) {
      const metered = await counter(profile, /^fleet_tokens_spent_total\{.*\} (\d+)$/gm);
      const shown = spending.totals.find(({ key }) => key === profile.name)?.tokens ?? 0;
      assert.equal(shown, metered, profile.name);
    }
    const spent = sumOf(spending.totals, ({ tokens }) => tokens);
    assert.ok(spent > 0);
    const trees = await browser.json<SpendingDocument>('/api/spending?by=tree');
    assert.equal(
      sumOf(trees.totals, ({ tokens }) => tokens),
      spent,
    );
    assert.equal(
      sumOf(trees.buckets, ({ tokens }) => sumOf(tokens, (each) => each)),
      spent,
    );

    const blocked = await browser.json<BlockedDocument>('/api/blocked');
    const admitted = /^fleet_task_admissions_total\{.*decision="accepted".*\} (\d+)$/gm;
    const refused = /^fleet_task_admissions_total\{.*decision="blocked".*\} (\d+)$/gm;
    const saved = /^fleet_tokens_saved_total (\d+)$/gm;
    const [isAdmitted, isRefused, isSaved] = await Promise.all(
      [admitted, refused, saved].map(async (pattern) =>
        sumOf(await Promise.all(profiles.map((profile) => counter(profile, pattern))), (count) => count),
      ),
    );
    assert.deepEqual([blocked.blocked, blocked.ended], [isRefused, (isAdmitted ?? 0) + (isRefused ?? 0)]);
    assert.deepEqual([blocked.tokens_saved, blocked.blocked], [isSaved, 3]);

    const [relayed] = all.tasks.filter(({ profile, state }) => profile === 'switch' && state === 'done');
    const page = await browser.json<TaskDocument>(`/api/tasks/switch/${relayed?.id}`);
    assert.deepEqual(
      [page.attempts.length, page.attempts[0]?.status, page.tree.parts.length],
      [1, 'done', 1],
    );
    assert.equal(page.tree.parts[0]?.own_tokens, page.task.spent_tokens);
  },
);
