import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { PROTOCOL_VERSION } from '@hermes-fleet/protocol';
import {
  ANNOUNCE_TOKEN,
  at,
  dispatchMessage,
  message,
  READ_TOKEN,
  type Served,
  serve,
  TOKEN,
} from '../../testing/serve.ts';

const request = (more: object): object => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'GetTask',
  params: { id: 'x' },
  ...more,
});

interface Case {
  readonly what: string;
  readonly body: unknown;
  readonly code: number;
  readonly id?: unknown;
}

const ENVELOPES: readonly Case[] = [
  { what: 'garbage', body: '{"jsonrpc": "2.0", garbage', code: -32700, id: null },
  { what: 'an empty body', body: '', code: -32700, id: null },
  { what: 'a batch', body: [request({})], code: -32600, id: null },
  { what: 'an empty batch', body: [], code: -32600, id: null },
  { what: 'a string', body: '"hello"', code: -32600, id: null },
  { what: 'null', body: 'null', code: -32600, id: null },
  { what: 'no jsonrpc', body: { id: 1, method: 'GetTask' }, code: -32600, id: 1 },
  { what: 'jsonrpc 1.0', body: request({ jsonrpc: '1.0' }), code: -32600, id: 1 },
  { what: 'no method', body: { jsonrpc: '2.0', id: 'a' }, code: -32600, id: 'a' },
  { what: 'a number as method', body: request({ method: 5 }), code: -32600, id: 1 },
  { what: 'an object as id', body: request({ id: {} }), code: -32600, id: null },
  { what: 'a fraction as id', body: request({ id: 1.5 }), code: -32600, id: null },
  {
    what: 'an id that a double cannot give back',
    body: '{"jsonrpc":"2.0","id":9007199254740993,"method":"Nope"}',
    code: -32600,
    id: null,
  },
  {
    what: 'deep nesting',
    body: `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`,
    code: -32600,
    id: 1,
  },
  { what: 'an unknown method', body: request({ method: 'Nope' }), code: -32601, id: 1 },
  {
    what: 'a method named like a member of Object',
    body: request({ method: 'constructor' }),
    code: -32601,
    id: 1,
  },
  { what: 'an array as params', body: request({ params: [] }), code: -32602, id: 1 },
  { what: 'null as id', body: request({ id: null, method: 'Nope' }), code: -32601, id: null },
];

test('every invalid envelope is answered with its JSON-RPC code, status 200 and the id if it has one', async (t) => {
  const served = await serve(t);
  for (const { what, body, code, id } of ENVELOPES) {
    const answer = await served.post(body);
    assert.equal(answer.status, 200, what);
    assert.equal(at(answer.body, 'error', 'code'), code, what);
    assert.equal(answer.body.id, id, what);
    assert.equal(answer.body.jsonrpc, '2.0', what);
    assert.match(String(at(answer.body, 'error', 'data', 0, '@type')), /google\.rpc\.ErrorInfo$/, what);
  }
  assert.equal(served.ledger.list({ pageSize: 10 }).totalSize, 0);
});

test('a missing or wrong token is 401 with a JSON-RPC error, and nothing is recorded', async (t) => {
  const served = await serve(t);
  const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: message('hi') };
  for (const token of [null, 'wrong-token-0123456789']) {
    const answer = await served.post(body, { token });
    assert.equal(answer.status, 401);
    assert.equal(at(answer.body, 'error', 'code'), -32000);
    assert.equal(at(answer.body, 'error', 'data', 0, 'reason'), 'UNAUTHENTICATED');
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
  }
  assert.equal(served.ledger.list({ pageSize: 10 }).totalSize, 0);
  assert.equal(served.intake.inbound.length, 0);
});

test('more than 1 MiB is 413, another content type 415, both as JSON-RPC errors', async (t) => {
  const served = await serve(t);
  const large = await served.post(request({ params: { id: 'x'.repeat(1_100_000) } }));
  assert.deepEqual([large.status, at(large.body, 'error', 'code')], [413, -32600]);
  const typed = await served.post(request({}), { headers: { 'content-type': 'text/plain' } });
  assert.deepEqual([typed.status, at(typed.body, 'error', 'code')], [415, -32005]);
  assert.equal(at(typed.body, 'error', 'data', 0, 'reason'), 'CONTENT_TYPE_NOT_SUPPORTED');
  const charset = await served.post(request({}), {
    headers: { 'content-type': 'application/json; charset=utf-8' },
  });
  assert.equal(at(charset.body, 'error', 'code'), -32001);
});

test('an invalid field of a handshake part is -32602 and named', async (t) => {
  const served = await serve(t);
  const wrong = {
    task: { task_id: 'a', priority: 'asap', token_budget: -1 },
    protocol_version: PROTOCOL_VERSION,
  };
  const { body } = await served.rpc('SendMessage', dispatchMessage('a', wrong));
  assert.equal(at(body, 'error', 'code'), -32602);
  const violations = at(body, 'error', 'data', 1, 'fieldViolations');
  assert.ok(Array.isArray(violations));
  assert.deepEqual(violations.map((violation) => at(violation, 'field')).sort(), [
    'task.priority',
    'task.token_budget',
  ]);
});

test('the same task id with another payload is -32602 TASK_ID_CONFLICT', async (t) => {
  const served = await serve(t);
  await served.rpc('SendMessage', dispatchMessage('one'));
  const { body } = await served.rpc('SendMessage', dispatchMessage('one', { brief: 'something else' }));
  assert.equal(at(body, 'error', 'code'), -32602);
  assert.equal(at(body, 'error', 'data', 0, 'reason'), 'TASK_ID_CONFLICT');
});

test('reading, dispatching and announcing each need their scope, and the error names the missing one', async (t) => {
  const served = await serve(t);
  const denied = async (method: string, params: object, token: string, scope: string): Promise<void> => {
    const answer = await served.post(request({ method, params }), { token });
    assert.deepEqual([answer.status, at(answer.body, 'error', 'code')], [403, -32000], method);
    assert.match(String(at(answer.body, 'error', 'message')), new RegExp(`"${scope}"`), method);
  };
  await denied('SendMessage', message('hi'), READ_TOKEN, 'dispatch');
  await denied('SendMessage', message('hi'), ANNOUNCE_TOKEN, 'dispatch');
  await denied('CancelTask', { id: 'x' }, READ_TOKEN, 'dispatch');
  for (const method of ['GetTask', 'ListTasks', 'SubscribeToTask']) {
    await denied(method, { id: 'x' }, ANNOUNCE_TOKEN, 'read');
  }
  assert.equal(served.ledger.list({ pageSize: 10 }).totalSize, 0);
});

test('an exception is -32603 without its text, which is logged', async (t) => {
  const served = await serve(t);
  for (const method of ['SendMessage', 'SendStreamingMessage', 'message/send']) {
    const legacy = { message: { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'explode' }] } };
    const answer = await served.rpc(method, method.includes('/') ? legacy : message('explode'));
    assert.deepEqual([answer.status, at(answer.body, 'error', 'code')], [200, -32603], method);
    assert.doesNotMatch(answer.text, /secret|hermes\/token|\.ts/, method);
  }
  assert.equal(
    served.logLines.filter((line) => line.includes('explode') || line.includes('secret: /etc')).length,
    3,
  );
});

test('push and files are refused with their own codes', async (t) => {
  const served = await serve(t);
  const codeOf = async (method: string, params: object = {}): Promise<unknown> =>
    at((await served.post(request({ method, params }))).body, 'error', 'code');
  for (const name of ['Create', 'Get', 'Delete']) {
    assert.equal(await codeOf(`${name}TaskPushNotificationConfig`), -32003, name);
  }
  assert.equal(await codeOf('ListTaskPushNotificationConfigs'), -32003);
  for (const name of ['set', 'get', 'list', 'delete']) {
    const params = {
      id: 'x',
      taskId: 'x',
      pushNotificationConfig: { url: 'http://x' },
      pushNotificationConfigId: 'y',
    };
    assert.equal(await codeOf(`tasks/pushNotificationConfig/${name}`, params), -32003, name);
  }
  const push = { ...message('hi'), configuration: { taskPushNotificationConfig: { url: 'http://x' } } };
  assert.equal(await codeOf('SendMessage', push), -32003);
  const file = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ url: 'http://x/y.png' }] } };
  assert.equal(await codeOf('SendMessage', file), -32005);
  assert.equal(served.ledger.list({ pageSize: 10 }).totalSize, 0);
});

test('without streaming in the card, both streaming methods are -32004 in both versions', async (t) => {
  const served = await serve(t, { streaming: false });
  const legacy = { message: { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'x' }] } };
  const calls: [string, object][] = [
    ['SendStreamingMessage', message('x')],
    ['SubscribeToTask', { id: 'x' }],
    ['message/stream', legacy],
    ['tasks/resubscribe', { id: 'x' }],
  ];
  for (const [method, params] of calls) {
    const { body } = await served.post(request({ method, params }));
    assert.equal(at(body, 'error', 'code'), -32004, method);
  }
  assert.equal(served.ledger.list({ pageSize: 10 }).totalSize, 0);
});

test('A2A-Version is matched by major and minor; other versions are -32009; method names belong to their version', async (t) => {
  const served = await serve(t);
  const codeOf = async (version: string, method: string): Promise<unknown> => {
    const answer = await served.post(request({ method }), { headers: { 'a2a-version': version } });
    return at(answer.body, 'error', 'code');
  };
  assert.equal(await codeOf('1.0', 'GetTask'), -32001);
  assert.equal(await codeOf('1.0.3', 'GetTask'), -32001);
  assert.equal(await codeOf('1', 'GetTask'), -32001);
  assert.equal(await codeOf('', 'GetTask'), -32001);
  assert.equal(await codeOf('0.3', 'tasks/get'), -32001);
  assert.equal(await codeOf('0.3', 'GetTask'), -32601);
  assert.equal(await codeOf('1.0', 'tasks/get'), -32601);
  assert.equal(await codeOf('2.0', 'GetTask'), -32009);
  assert.equal(await codeOf('banana', 'GetTask'), -32009);
});

test('a notification is executed and answered with 204 and no body', async (t) => {
  const served = await serve(t);
  const notify = async (method: string, params: object): Promise<void> => {
    const answer = await served.post({ jsonrpc: '2.0', method, params });
    assert.deepEqual([answer.status, answer.text], [204, ''], method);
  };
  await notify('SendMessage', dispatchMessage('n-1'));
  await notify('message/send', {
    message: { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'x' }] },
  });
  assert.equal(served.ledger.list({ pageSize: 10 }).totalSize, 2);
  await notify('GetTask', { id: 'x' });
  await notify('Nope', {});
  await notify('SendMessage', {});
  assert.equal(served.ledger.list({ pageSize: 10 }).totalSize, 2);
});

test('a client that disconnects in the middle of its body affects nobody else', async (t) => {
  const served = await serve(t);
  await cutOff(served);
  const { body } = await served.rpc('SendMessage', message('still there?'));
  assert.equal(at(body, 'result', 'task', 'status', 'state'), 'TASK_STATE_COMPLETED');
});

function cutOff(served: Served): Promise<void> {
  const { hostname, port } = new URL(served.url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(
        `POST /jsonrpc HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: Bearer ${TOKEN}\r\n` +
          'content-length: 500\r\n\r\n{"jsonrpc":',
        () => socket.destroy(),
      );
    });
    socket.once('close', () => resolve());
  });
}
