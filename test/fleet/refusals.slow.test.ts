import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { startFleet } from '../support/fleet.ts';
import { call, dispatch, message, post, resultOf, runbook } from '../support/rpc.ts';

interface Refusal {
  readonly what: string;
  readonly send: () => ReturnType<typeof post>;
  readonly status: number;
  readonly code: number;
  readonly says?: RegExp;
}

test('what is refused is refused clearly, is recorded nowhere, and disturbs no running task', async (t) => {
  const fleet = await startFleet(t, ['switch', 'neo'], { inProcess: true });
  const neo = fleet.target('neo');
  const listed = async (): Promise<number> => (await call(neo, 'ListTasks', {})).body.result.totalSize;

  const marker = '.go';
  const running = call(
    neo,
    'SendMessage',
    message(
      dispatch({
        taskId: 'undisturbed',
        brief: runbook('a.txt', 'a', `while [ ! -e ${marker} ]; do sleep 0.1; done`),
      }),
      { contextId: 'busy', returnImmediately: true },
    ),
  );
  const { id } = (await running).body.result.task;
  const before = await listed();

  const good = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: message(dispatch({ brief: 'x' })) };
  const wrongFields = dispatch({
    brief: '',
    task: { priority: 'hihg', token_budget: '4000' },
    deadline: 'soon',
  });
  const cases: Refusal[] = [
    {
      what: 'no token',
      send: () => post({ ...neo, token: undefined }, JSON.stringify(good)),
      status: 401,
      code: -32000,
    },
    {
      what: 'a wrong token',
      send: () => post({ ...neo, token: 'x'.repeat(43) }, JSON.stringify(good)),
      status: 401,
      code: -32000,
    },
    {
      what: 'a body that is no JSON',
      send: () => post(neo, '{"jsonrpc": "2.0", '),
      status: 200,
      code: -32700,
    },
    { what: 'binary garbage', send: () => post(neo, '\u0000\u0001\u0002'), status: 200, code: -32700 },
    { what: 'a batch', send: () => post(neo, JSON.stringify([good])), status: 200, code: -32600 },
    { what: 'an unknown method', send: () => call(neo, 'MakeCoffee', {}), status: 200, code: -32601 },
    {
      what: 'a dispatch with wrong fields, which names every one',
      send: () => call(neo, 'SendMessage', message(wrongFields)),
      status: 200,
      code: -32602,
      says: /task\.priority.*task\.token_budget.*deadline.*brief/s,
    },
    {
      what: 'a wrong field of A2A',
      send: () => call(neo, 'SendMessage', { message: { messageId: {}, role: 'ROLE_USER', parts: [] } }),
      status: 200,
      code: -32602,
      says: /messageId/,
    },
    {
      what: 'more than 1 MiB',
      send: () => call(neo, 'SendMessage', message(dispatch({ brief: 'x'.repeat(1_100_000) }))),
      status: 413,
      code: -32600,
    },
    {
      what: 'a body that is not JSON by its type',
      send: () => post(neo, 'hello', { 'content-type': 'text/plain' }),
      status: 415,
      code: -32005,
    },
    {
      what: 'an unknown task',
      send: () => call(neo, 'GetTask', { id: 'nobody' }),
      status: 200,
      code: -32001,
    },
  ];
  for (const { what, send, status, code, says } of cases) {
    await t.test(what, async () => {
      const reply = await send();
      assert.equal(reply.status, status, JSON.stringify(reply.body));
      assert.equal(reply.body.error.code, code, JSON.stringify(reply.body));
      const text = JSON.stringify(reply.body);
      if (says) assert.match(text, says);
      assert.doesNotMatch(text, /\/src\/|node_modules|at .*\.ts|SQLITE/);
    });
  }

  await t.test('bytes that are no HTTP', async () => {
    const { hostname, port } = new URL(neo.url);
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write('\u0016\u0003\u0001 nonsense\r\n\r\n'),
      );
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.on('close', () => resolve(text));
      socket.on('error', reject);
    });
    assert.match(answer, /^HTTP\/1\.1 400/);
  });

  await t.test('a caller sees no task of somebody else', async () => {
    const other = fleet.target('neo', await fleet.tokenOf('switch', 'neo'));
    assert.equal((await call(other, 'GetTask', { id })).body.error.code, -32001);
    assert.equal((await call(other, 'CancelTask', { id })).body.error.code, -32001);
    assert.equal((await call(other, 'ListTasks', {})).body.result.tasks.length, 0);
  });

  assert.equal(await listed(), before, 'a refused message was recorded');
  const release = await call(neo, 'GetTask', { id });
  assert.equal(release.body.result.status.state, 'TASK_STATE_WORKING', JSON.stringify(release.body));
  const { body } = await call(neo, 'CancelTask', { id });
  assert.equal(body.result.status.state, 'TASK_STATE_CANCELED', JSON.stringify(body));
  assert.equal(resultOf(body.result).error.code, 'canceled');
});
