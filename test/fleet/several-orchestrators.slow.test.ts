import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { until } from '../support/fleet.ts';
import { type LoneProfile, startProfile } from '../support/lone-profile.ts';
import { seenPeers } from '../support/peers-view.ts';
import { freeOffset } from '../support/ports.ts';
import { call } from '../support/rpc.ts';
import { resultWhenEnded, sendCommand } from '../support/sent-tasks.ts';

const SLOTS = 2;
const TASKS = 24;
/** `fleet.routing.buffer` of each orchestrator; switch has the default. */
const BUFFERS = { switch: 1, link: 3 } as const;
const WORKERS = ['neo', 'morpheus'] as const;
type Orchestrator = keyof typeof BUFFERS;
const ORCHESTRATORS: readonly Orchestrator[] = ['switch', 'link'];

interface World {
  readonly profiles: Readonly<Record<Orchestrator | (typeof WORKERS)[number], LoneProfile>>;
}

/** Two orchestrators that know nothing of each other, over the same two workers. */
async function startWorld(t: TestContext): Promise<World> {
  const names = [...ORCHESTRATORS, ...WORKERS];
  const ports = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, 9219 + (await freeOffset())] as const)),
  );
  const variable = (from: string, to: string): string => `${from}_TO_${to}`.toUpperCase();
  const isOrchestrator = (name: string): name is Orchestrator => name in BUFFERS;
  const env = Object.fromEntries(
    ORCHESTRATORS.flatMap((a) => WORKERS.flatMap((b) => [variable(a, b), variable(b, a)])).map((name) => [
      name,
      `token-${name}-${randomUUID()}`,
    ]),
  );
  const start = (name: string): Promise<LoneProfile> => {
    const others = isOrchestrator(name) ? WORKERS : ORCHESTRATORS;
    const scopes = isOrchestrator(name) ? ['announce'] : ['announce', 'dispatch', 'read'];
    return startProfile(t, {
      name,
      port: Number(ports[name]),
      fleet: {
        agents: Object.fromEntries(
          others.map((other) => [
            other,
            { url: `http://127.0.0.1:${ports[other]}`, token_env: variable(name, other) },
          ]),
        ),
        ...(isOrchestrator(name)
          ? { role: 'orchestrator', orchestrate: true, routing: { buffer: BUFFERS[name] } }
          : { role: 'worker', limits: { max_concurrent_tasks: SLOTS } }),
      },
      callers: Object.fromEntries(
        others.map((other) => [other, { token_env: variable(other, name), scopes }]),
      ),
      env,
    });
  };
  const [neo, morpheus, switch_, link] = await Promise.all([
    start('neo'),
    start('morpheus'),
    start('switch'),
    start('link'),
  ]);
  const profiles = { neo, morpheus, switch: switch_, link };
  for (const name of ORCHESTRATORS)
    await until(
      async () => (await seenPeers(profiles[name])).every(({ state }) => state === 'live'),
      `${name} to hear of both workers`,
    );
  return { profiles };
}

interface Stay {
  readonly caller: string;
  readonly key: string;
  readonly submittedAt: number;
  /** Undefined for a task that was refused. */
  readonly startedAt: number | undefined;
  readonly endedAt: number;
  /** It was sent to a full worker, to wait there. */
  readonly mayWait: boolean;
}

/** The tasks in a worker's ledger. */
function staysAt({ ledgerFile }: LoneProfile): Stay[] {
  using db = new DatabaseSync(ledgerFile, { readOnly: true });
  const at = (type: string): string => `max(CASE WHEN e.type = '${type}' THEN e.at END)`;
  return db
    .prepare(
      `SELECT t.caller, t.key, ${at('submitted')} AS submitted, ${at('started')} AS started, max(e.at) AS ended,
           coalesce(t.dispatch, t.message) LIKE '%"when_full":"queue"%' AS may_wait
         FROM tasks t JOIN events e ON e.task = t.n GROUP BY t.n`,
    )
    .all()
    .map((row) => ({
      caller: String(row.caller),
      key: String(row.key),
      submittedAt: Number(row.submitted),
      startedAt: row.started === null ? undefined : Number(row.started),
      endedAt: Number(row.ended),
      mayWait: row.may_wait === 1,
    }));
}

/** The largest number of half-open intervals that share a moment. */
function mostAtOnce(intervals: readonly (readonly [from: number, to: number])[]): number {
  return Math.max(
    0,
    ...intervals.map(([moment]) => intervals.filter(([from, to]) => from <= moment && moment < to).length),
  );
}

test('two orchestrators share their workers', { timeout: 300_000 }, async (t) => {
  const { profiles } = await startWorld(t);

  await t.test('one sees the load that the other one causes, and waits instead of asking', async () => {
    const long = await Promise.all(
      Array.from({ length: 2 * SLOTS }, (_, at) => sendCommand(profiles.switch, `long-${at}`, 'sleep 8; ls')),
    );
    const loads = async (): Promise<number[]> =>
      (await seenPeers(profiles.link)).map(({ announce }) => announce?.active_tasks ?? 0);
    await until(async () => (await loads()).every((load) => load === SLOTS), 'link to see full workers');
    const short = await sendCommand(profiles.link, 'short', 'ls');
    const results = await Promise.all(long.map((id) => resultWhenEnded(profiles.switch, id)));
    assert.deepEqual(new Set(results.map(({ status }) => status)), new Set(['done']));
    const result = await resultWhenEnded(profiles.link, short);
    assert.equal(result.status, 'done', JSON.stringify(result));
    const asked = WORKERS.flatMap((name) => staysAt(profiles[name])).filter(
      ({ caller }) => caller === 'link',
    );
    assert.deepEqual(
      asked.map(({ mayWait }) => mayWait),
      [true],
      'one worker was asked, once, and to let the task wait',
    );
  });

  await t.test('each is durable for its own callers, and no slot is overbooked', async () => {
    const ids = (name: Orchestrator) => Array.from({ length: TASKS }, (_, at) => `${name}-${at}`);
    const sendAll = (name: Orchestrator) =>
      Promise.all(ids(name).map((id) => sendCommand(profiles[name], id, 'sleep 0.3; ls')));
    const [bySwitch, byLink] = await Promise.all([sendAll('switch'), sendAll('link')]);
    await profiles.switch.kill();
    const results = await Promise.all(byLink.map((id) => resultWhenEnded(profiles.link, id)));
    assert.ok(
      results.every(({ status }) => status === 'done'),
      'link goes on while switch is down',
    );
    await profiles.switch.start();
    for (const id of bySwitch) {
      const result = await resultWhenEnded(profiles.switch, id);
      assert.equal(result.status, 'done', JSON.stringify(result));
    }
    const { body } = await call(profiles.link, 'GetTask', { id: bySwitch[0] ?? '' });
    assert.equal(body.error?.code, -32001, 'the other one has no task of its callers');
  });

  await t.test('every task ran once, in a slot, after a wait within the buffer', () => {
    const stays = WORKERS.flatMap((name) => staysAt(profiles[name]).map((stay) => ({ ...stay, name })));
    const ran = stays.filter(({ startedAt }) => startedAt !== undefined);
    assert.equal(ran.length, 2 * SLOTS + 1 + 2 * TASKS);
    for (const worker of WORKERS) {
      const here = ran.filter(({ name }) => name === worker);
      assert.deepEqual(new Set(here.map(({ caller }) => caller)), new Set(ORCHESTRATORS));
      assert.ok(mostAtOnce(here.map(({ startedAt = 0, endedAt }) => [startedAt, endedAt])) <= SLOTS);
      for (const orchestrator of ORCHESTRATORS) {
        const waits = here
          .filter(({ caller, mayWait }) => mayWait && caller === orchestrator)
          .map(({ submittedAt, startedAt = 0 }) => [submittedAt, startedAt] as const);
        const most = mostAtOnce(waits);
        const allowed = BUFFERS[orchestrator];
        assert.ok(
          most <= allowed,
          `${most} tasks of ${orchestrator} wait at ${worker}, not ${allowed}: ${JSON.stringify(waits)}`,
        );
      }
    }
  });
});
