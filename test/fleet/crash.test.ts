import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Fleet, PROFILES, readEvents, startFleet, until } from '../support/fleet.ts';
import { readLedgerFile } from '../support/ledger-file.ts';
import { call, dispatch, message, resultOf, runbook } from '../support/rpc.ts';

const TERMINAL = new Set(['blocked', 'done', 'partial', 'error', 'canceled']);

/** Sends work that lasts until `release` makes a file in its workspace, and waits until a command of it runs. */
async function startLongTask(fleet: Fleet, target: string): Promise<{ id: string; worker: string }> {
  const brief = runbook(
    'started.txt',
    'started',
    'for i in $(seq 1 40); do sleep 0.1; done',
    'echo slept >> slept.txt',
  );
  const sent = dispatch({ taskId: 'long', brief, routing: { target: 'auto' } });
  const { body } = await call(
    fleet.target(target),
    'SendMessage',
    message(sent, { returnImmediately: true }),
  );
  let worker = '';
  await until(() => {
    const [file] = globSync('workspaces/*/contexts/*/tree/started.txt', { cwd: fleet.dir });
    worker = file?.split('/')[1] ?? '';
    return worker !== '';
  }, 'a worker to start on the task');
  return { id: body.result.task.id, worker };
}

/** Follows a task of a worker as switch does. */
async function subscribe(fleet: Fleet, worker: string, id: string): Promise<Response> {
  const { url, token } = fleet.target(worker, await fleet.tokenOf('switch', worker));
  const response = await fetch(`${url}/jsonrpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', authorization: `Bearer ${token}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } }),
    signal: AbortSignal.timeout(60_000),
  });
  assert.match(response.headers.get('content-type') ?? '', /text\/event-stream/);
  return response;
}

async function endOf(fleet: Fleet, profile: string, id: string): Promise<unknown> {
  let task: { status: { state: string } } | undefined;
  await until(async () => {
    task = (await call(fleet.target(profile), 'GetTask', { id })).body.result;
    return /COMPLETED|FAILED|REJECTED|CANCELED/.test(task?.status.state ?? '');
  }, `the task ${id} to end`);
  return resultOf(task);
}

/** The types of the terminal events of each task in a profile's ledger. */
function endings(fleet: Fleet, profile: string): Map<string, string[]> {
  const { events } = readLedgerFile(join(fleet.dir, 'state', profile, 'ledger.db'));
  const ended = events.filter(({ type }) => TERMINAL.has(type));
  return new Map(
    [...Map.groupBy(ended, ({ taskId }) => taskId)].map(([id, own]) => [id, own.map(({ type }) => type)]),
  );
}

async function survives(t: TestContext, victim: (worker: string) => string): Promise<void> {
  const fleet = await startFleet(t, PROFILES);
  const { id, worker } = await startLongTask(fleet, 'switch');
  await fleet.kill(victim(worker));
  await fleet.up();
  const result = (await endOf(fleet, 'switch', id)) as {
    status: string;
    executed_by: string;
    tokens_spent: number;
  };
  assert.ok(['done', 'error', 'partial'].includes(result.status), JSON.stringify(result));
  if (result.status === 'done') assert.equal(result.executed_by, worker);
  assert.ok(result.tokens_spent > 0, 'what was spent before the crash is not lost');

  assert.deepEqual(
    [...endings(fleet, 'switch').values()].map((types) => types.length),
    [1],
  );
  const ran = ['neo', 'morpheus', 'trinity'].flatMap((name) => [...endings(fleet, name).values()]);
  assert.equal(ran.length, 1, `the work was done by ${ran.length} tasks`);
  assert.equal(ran[0]?.length, 1, 'the worker has two results');

  const events = await readEvents(fleet, (all) =>
    all.some(({ subject, type }) => subject === id && /\.(done|error|partial)\./.test(type)),
  );
  const mine = events.filter(({ subject }) => subject === id).map(({ type }) => type.split('.').at(-2) ?? '');
  assert.equal(mine.filter((type) => TERMINAL.has(type)).length, 1, mine.join());
}

test('a worker killed in the middle of a task takes it up again: one result, nothing lost', (t) =>
  survives(t, (worker) => worker));

test('switch killed in the middle of a task it has sent out: the work is not sent twice, one result', (t) =>
  survives(t, () => 'switch'));

test('SIGTERM in the middle of a task: a checkpoint, exit 0, and the next start ends the task', async (t) => {
  const fleet = await startFleet(t, PROFILES);
  const { id, worker } = await startLongTask(fleet, 'switch');
  const own = await call(fleet.target(worker, await fleet.tokenOf('switch', worker)), 'ListTasks', {});
  const stream = await subscribe(fleet, worker, own.body.result.tasks[0].id);
  await fleet.terminate(worker);
  assert.match(await stream.text(), /TASK_STATE_WORKING/, 'the stream ends after what it had to say');
  assert.match(fleet.log(worker), /"exit_code":0/);
  await fleet.up();
  const result = (await endOf(fleet, 'switch', id)) as { status: string };
  assert.equal(result.status, 'done', JSON.stringify(result));
  const resumes = (await fleet.metrics(worker)).match(/^fleet_resumes_total.*$/m);
  assert.match(resumes?.[0] ?? '', / 1$/);
});
