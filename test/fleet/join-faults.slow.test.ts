import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runningProcess } from '@hermes-fleet/cli';
import { type Fleet, startFleet, until } from '../support/fleet.ts';
import { cli, joinToken, type OtherMachine, otherMachine } from '../support/joining.ts';
import { seenPeers } from '../support/peers-view.ts';
import { call, dispatch, message, resultOf, runbook, type Target } from '../support/rpc.ts';

// biome-ignore lint/suspicious/noExplicitAny: the body of a reply under test has no type of its own
type Json = any;

async function workersOf({ target }: Fleet): Promise<Json[]> {
  const { url, token } = target('switch');
  const reply = await fetch(`${url}/fleet/workers`, { headers: { authorization: `Bearer ${token}` } });
  return ((await reply.json()) as Json).workers;
}

const phaseOf = ({ dir }: OtherMachine): string | undefined => {
  const file = join(dir, 'worker.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).phase : undefined;
};

const presented = ({ dir }: OtherMachine, name: string): string =>
  readdirSync(join(dir, 'keys', name))
    .map((file) => readFileSync(join(dir, 'keys', name, file), 'utf8'))
    .find((text) => !text.startsWith('sha256:')) ?? '';

const slow = (target: string, seconds: number): Json =>
  dispatch({
    brief: runbook('s.txt', 'slow', `sleep ${seconds}; cat s.txt`),
    task: { token_budget: 20_000 },
    routing: { target, on_blocked: 'queue' },
  });

/** Starts a task, and does not wait for it. */
async function begin(to: Target, target: string, seconds: number): Promise<string> {
  const { body } = await call(to, 'SendMessage', message(slow(target, seconds), { returnImmediately: true }));
  return body.result.task.id;
}

/** The result of a task, also across restarts of who has it. */
async function resultAt(at: Target, id: string): Promise<Json> {
  let result: Json;
  await until(async () => {
    const { body } = (await call(at, 'GetTask', { id }).catch(() => undefined)) ?? {};
    result = resultOf(body?.result);
    return result !== undefined;
  }, `the result of ${id}`);
  return result;
}

test('a join and a leave that are killed at any point go on when they are called again', async (t) => {
  const fleet = await startFleet(t, ['switch', 'neo']);
  const machine = otherMachine(t, fleet);
  const operator = fleet.target('switch');
  const { token } = await joinToken(fleet, { name: 'worker-7' });
  const pid = () => runningProcess(join(machine.dir, 'run'), 'worker-7');

  const points: [what: string, reached: () => boolean | Promise<boolean>][] = [
    ['its folder is there', () => phaseOf(machine) === 'joining'],
    ['switch has accepted it', async () => (await workersOf(fleet)).length === 1],
    ['it knows that', () => phaseOf(machine) === 'joined'],
    ['its gateway runs', () => pid() !== undefined],
  ];
  for (const [what, reached] of points)
    await t.test(`fleet join is killed when ${what}`, async () => {
      const child = machine.spawnJoin(token);
      const exit = once(child, 'exit');
      await until(reached, what);
      child.kill('SIGKILL');
      await exit;
      assert.ok((await workersOf(fleet)).length <= 1);
    });

  await t.test('the same command then finishes the join', async () => {
    const done = await machine.join(token);
    assert.equal(done.code, 0, done.stderr);
    const [worker, ...others] = await workersOf(fleet);
    assert.deepEqual(
      [worker.name, worker.state, worker.peer, others.length],
      ['worker-7', 'joined', 'live', 0],
    );
    const result = await resultAt(operator, await begin(operator, 'worker-7', 0));
    assert.equal(result.executed_by, 'worker-7');
  });

  await t.test(
    'fleet leave, the gateway and the orchestrator are killed while tasks run; all are done',
    async () => {
      const tasks = await Promise.all([begin(operator, 'worker-7', 12), begin(operator, 'worker-7', 12)]);
      await until(async () => (await workersOf(fleet))[0]?.tasks === 2, 'two tasks to run there');
      const left = machine.spawnLeave();
      const exit = once(left, 'exit');
      await until(async () => (await workersOf(fleet))[0]?.state === 'leaving', 'it to be leaving');
      left.kill('SIGKILL');
      await exit;
      process.kill(pid()?.pid ?? assert.fail(), 'SIGKILL');
      await until(() => pid() === undefined, 'its gateway to be gone');
      await fleet.kill('switch');
      const alone = machine.spawnLeave();
      await fleet.up();
      const gone = once(alone, 'exit');
      alone.kill('SIGKILL');
      await gone;
      const back = await machine.join(token);
      assert.equal(back.code, 1);
      assert.match(back.stderr, /leaving/);
      const done = await machine.leave();
      assert.equal(done.code, 0, done.stderr);
      for (const id of tasks) {
        const result = await resultAt(operator, id);
        // A command that was cut off with the gateway is not run again without being asked for.
        assert.match(result.status, /^(done|partial)$/, JSON.stringify(result));
        assert.equal(result.executed_by, 'worker-7');
      }
      assert.deepEqual(await workersOf(fleet), []);
      assert.equal(pid(), undefined);
    },
  );
});

test('a revoked worker is none at once: its token, its streams, its place, and the tasks that it has', async (t) => {
  const fleet = await startFleet(t, ['switch', 'neo']);
  const machine = otherMachine(t, fleet);
  const operator = fleet.target('switch');
  const { token } = await joinToken(fleet, { name: 'worker-7', scopes: ['dispatch', 'read'] });
  const done = await machine.join(token);
  assert.equal(done.code, 0, done.stderr);
  const worker = { url: operator.url, token: presented(machine, 'worker-7') };

  const running = await begin(operator, 'worker-7', 600);
  const stream = await fetch(`${worker.url}/jsonrpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${worker.token}` },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendStreamingMessage',
      params: message(
        dispatch({
          brief: runbook('n.txt', 'n', 'sleep 600'),
          task: { token_budget: 20_000 },
          routing: { target: 'neo', on_blocked: 'fail' },
        }),
      ),
    }),
  });
  assert.equal(stream.status, 200);
  const streamed = (async () => {
    for await (const _chunk of stream.body ?? []);
  })().then(
    () => 'ended',
    () => 'cut off',
  );
  await until(async () => (await workersOf(fleet))[0]?.tasks === 1, 'its task to run');

  const revokedAt = Date.now();
  const revoked = await cli(['workers', 'revoke', 'worker-7', '--dir', fleet.dir]);
  assert.equal(revoked.code, 0, revoked.stderr);
  assert.match(revoked.stdout, /1 tasks? that it had end/);

  assert.equal(await streamed, 'cut off');
  const result = await resultAt(operator, running);
  assert.deepEqual(
    [result.status, result.error?.code],
    ['error', 'peer_unreachable'],
    JSON.stringify(result),
  );
  assert.match(result.error.message, /worker-7 was revoked/);
  assert.ok(Date.now() - revokedAt < 30_000, 'nothing waits for a time-out of the peer');
  const { status } = await call(worker, 'ListTasks', {});
  assert.equal(status, 401);
  assert.deepEqual(
    (await seenPeers(operator)).filter(({ name }) => name === 'worker-7'),
    [],
  );
  assert.deepEqual(await workersOf(fleet), []);

  await fleet.kill('switch');
  await fleet.up();
  assert.equal((await call(worker, 'ListTasks', {})).status, 401, 'also after a restart');
  assert.deepEqual(
    (await seenPeers(operator)).filter(({ name }) => name === 'worker-7'),
    [],
  );

  const left = await machine.leave('--now');
  assert.equal(left.code, 0, left.stderr);
});
