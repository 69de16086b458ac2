import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import { lasting, untilThere } from '../support/agent-work.ts';
import { type Fleet, PROFILES, readEvents, startFleet, until } from '../support/fleet.ts';
import { readAccount, STATUSES } from '../support/ledger-file.ts';
import {
  BLOCKED_OF_ROUND,
  type Root,
  resultsOf,
  SAVED_OF_ROUND,
  sendRoot,
  sendRound,
  spentBy,
} from '../support/ledger-traffic.ts';
import { endedAtWorkers, endings, endOf, startLongTask } from '../support/long-task.ts';
import { call, dispatch, runbook } from '../support/rpc.ts';

const TASKS = 24;
const VICTIMS = ['neo', 'switch', 'morpheus', 'nats', 'switch', 'trinity', 'neo'];

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

const accountOf = (fleet: Fleet, profile: string) =>
  readAccount(join(fleet.dir, 'state', profile, 'ledger.db'));

/** The sums of a profile's counters. */
async function countersOf(fleet: Fleet, profile: string) {
  const page = await fleet.metrics(profile);
  const samples = [...page.matchAll(/^(fleet_\w+_total)(\{[^}]*\})? (\d+)$/gm)];
  const total = (family: string, label = ''): number =>
    sum(
      samples
        .filter(([, name, labels = '']) => name === `fleet_${family}_total` && labels.includes(label))
        .map(([, , , value]) => Number(value)),
    );
  return {
    own: total('tokens_spent'),
    saved: total('tokens_saved'),
    refusals: total('peer_refusals'),
    accepted: total('task_admissions', 'decision="accepted"'),
    blocked: total('task_admissions', 'decision="blocked"'),
    ended: Object.fromEntries(STATUSES.map((status) => [status, total('tasks', `status="${status}"`)])),
  };
}

/** Follows a task of a worker as switch does. */
async function subscribe(fleet: Fleet, worker: string): Promise<Response> {
  const target = fleet.target(worker, await fleet.tokenOf('switch', worker));
  const { tasks } = (await call(target, 'ListTasks', {})).body.result;
  const working = tasks.find(({ status }: { status: { state: string } }) => /WORKING/.test(status.state));
  const response = await fetch(`${target.url}/jsonrpc`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'a2a-version': '1.0',
      authorization: `Bearer ${target.token}`,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: working.id } }),
    signal: AbortSignal.timeout(60_000),
  });
  assert.match(response.headers.get('content-type') ?? '', /text\/event-stream/);
  return response;
}

test('processes are killed: every accepted task ends once, is done once, and is accounted for', {
  timeout: 600_000,
}, async (t) => {
  const fleet = await startFleet(t, PROFILES);
  /** All tasks that enter the fleet. */
  const roots: Root[] = [];
  const counters = () => Promise.all(PROFILES.map((profile) => countersOf(fleet, profile)));

  await t.test('switch killed after it sent a task out: the work is not sent twice', async () => {
    const { id, worker } = await startLongTask(fleet, 'orphaned');
    roots.push({ profile: 'switch', id });
    await fleet.kill('switch');
    await fleet.up();
    const { status, executed_by, tokens_spent } = await endOf(fleet, id);
    assert.match(String(status), /^(done|error|partial)$/);
    if (status === 'done') assert.equal(executed_by, worker);
    assert.ok(Number(tokens_spent) > 0, 'what was spent before the crash is not lost');
    assert.equal(endings(fleet, 'switch').get(id)?.length, 1);
    assert.equal(endedAtWorkers(fleet), 1, 'the work was done by more than one task');
    const isEnd = ({ subject, type }: { subject: string; type: string }) =>
      subject === id && TERMINAL_EVENTS.has(type.split('.').at(-2) ?? '');
    const events = await readEvents(fleet, (all) => all.some(isEnd));
    assert.equal(events.filter(isEnd).length, 1);
  });

  await t.test('SIGTERM: a checkpoint, exit 0, and the next start ends the task', async () => {
    const { id, worker } = await startLongTask(fleet, 'stopped');
    roots.push({ profile: 'switch', id });
    const stream = await subscribe(fleet, worker);
    await fleet.terminate(worker);
    assert.match(await stream.text(), /TASK_STATE_WORKING/, 'the stream ends after what it had to say');
    assert.match(fleet.log(worker), /"exit_code":0/);
    await fleet.up();
    const result = await endOf(fleet, id);
    assert.equal(result.status, 'done', JSON.stringify(result));
    assert.match(/^fleet_resumes_total.*$/m.exec(await fleet.metrics(worker))?.[0] ?? '', / 1$/);
  });

  await t.test('one process after the other killed under load: no task is done twice', async () => {
    const before = endedAtWorkers(fleet, 'worked');
    const brief = runbook('a.txt', 'a', 'sleep 1', 'echo x >> b.txt');
    const sent: Root[] = [];
    for (let i = 0; i < TASKS; i += 1)
      sent.push(await sendRoot(fleet, 'switch', dispatch({ brief, routing: { target: 'auto' } })));
    roots.push(...sent);
    for (const victim of VICTIMS) {
      await fleet.kill(victim);
      await fleet.up();
    }
    const results = await resultsOf(fleet, sent);
    for (const result of results) assert.match(String(result.status), /^(done|partial|error)$/);
    for (const profile of PROFILES) {
      const repeated = [...endings(fleet, profile)].filter(([, types]) => types.length > 1);
      assert.deepEqual(repeated, [], `${profile}: a task has two results`);
      assert.equal(accountOf(fleet, profile).unfinished, 0, `${profile}: a task is left over`);
    }
    const moved = results.filter(({ attempts }) => Array.isArray(attempts) && attempts.length > 1);
    const worked = endedAtWorkers(fleet, 'worked') - before;
    assert.equal(worked, TASKS, `each task was done by one worker, once: ${JSON.stringify(moved)}`);
  });

  await t.test('results, ledgers and counters have the same sums', async () => {
    const rounds: Root[] = await sendRound(fleet);
    const victim = { brief: lasting('victim'), routing: { target: 'trinity' } };
    const canceled = await sendRoot(fleet, 'switch', dispatch(victim));
    await untilThere(fleet, '.scratch/victim-begun');
    for (const name of ['neo', 'switch']) {
      await fleet.kill(name);
      await fleet.up();
      rounds.push(...(await sendRound(fleet)));
    }
    for (const name of ['trinity', 'switch']) await fleet.kill(name);
    await fleet.up();
    await call(fleet.target('switch'), 'CancelTask', { id: canceled.id });
    roots.push(...rounds, canceled);

    const results = await resultsOf(fleet, roots);
    const haveEnded = () => PROFILES.every((profile) => accountOf(fleet, profile).unfinished === 0);
    await until(haveEnded, 'all tasks between peers to end');
    const spent = await spentBy(fleet, roots);
    assert.ok(spent > 0);
    const ledgers = PROFILES.map((profile) => accountOf(fleet, profile));
    const counted = await counters();
    assert.ok(ledgers.every(({ settled }) => settled));
    assert.equal(sum(ledgers.map(({ own }) => own)), spent, 'tokens: ledgers and results');
    for (const [at, profile] of PROFILES.entries())
      assert.deepEqual(
        [counted[at]?.own, counted[at]?.ended],
        [ledgers[at]?.own, ledgers[at]?.ended],
        `${profile}: counters and ledger`,
      );
    const refused = results.filter(({ status }) => status === 'blocked');
    assert.equal(refused.length, 3 * BLOCKED_OF_ROUND);
    assert.equal(sum(counted.map(({ blocked }) => blocked)), refused.length);
    assert.equal(sum(counted.map(({ accepted }) => accepted)), roots.length - refused.length);
    assert.equal(sum(counted.map(({ saved }) => saved)), 3 * SAVED_OF_ROUND);
    const blocked = sum(ledgers.map(({ ended }) => ended.blocked ?? 0));
    assert.equal(sum(counted.map(({ refusals }) => refusals)), blocked - refused.length);

    for (const profile of PROFILES) await fleet.kill(profile);
    await fleet.up();
    assert.deepEqual(await counters(), counted, 'after a restart');
  });
});
