import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ANNOUNCE_TOKEN,
  at,
  dispatchMessage,
  message,
  OWN_TOKEN,
  READ_TOKEN,
  type ServeOptions,
  serve,
  TOKEN,
} from '../../testing/serve.ts';
import type { RefusedRequest } from './refused-request.ts';

/** A server that records its refusals. */
async function keeping(t: Parameters<typeof serve>[0], options: ServeOptions = {}) {
  const refusals: RefusedRequest[] = [];
  const served = await serve(t, { onRefused: async (refused) => void refusals.push(refused), ...options });
  const seen = () =>
    refusals.splice(0).map(({ caller, text, method, error }) => [caller.name, error.code, method, text]);
  return { served, seen };
}

test('a request that reaches no handler is reported with its text before it is answered', async (t) => {
  const { served, seen } = await keeping(t);
  const send = (params: object, more: object = {}): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params, ...more });
  const twice = (text: string): object => ({ ...message(text), configuration: { historyLength: -1 } });
  const file = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ url: 'http://x/y.png' }] } };
  const deep = send({ ...message('x'), metadata: { a: JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`) } });
  const push = { ...message('x'), configuration: { taskPushNotificationConfig: { url: 'http://x' } } };
  const cases: [body: string, token: string, code: string, method: string | undefined, rpcCode: number][] = [
    ['{"jsonrpc":"2.0","id":1,"method":"Sen', TOKEN, 'PARSE_ERROR', undefined, -32700],
    ['', TOKEN, 'PARSE_ERROR', undefined, -32700],
    [`[${send(message('x'))}]`, TOKEN, 'INVALID_REQUEST', undefined, -32600],
    ['"text"', TOKEN, 'INVALID_REQUEST', undefined, -32600],
    [send(message('x'), { jsonrpc: '1.0' }), TOKEN, 'INVALID_REQUEST', 'SendMessage', -32600],
    [deep, TOKEN, 'INVALID_REQUEST', 'SendMessage', -32600],
    [send(message('x')), READ_TOKEN, 'FORBIDDEN', 'SendMessage', -32000],
    [send(twice('x')), TOKEN, 'INVALID_PARAMS', 'SendMessage', -32602],
    [send({}), TOKEN, 'INVALID_PARAMS', 'SendMessage', -32602],
    [send(file), TOKEN, 'CONTENT_TYPE_NOT_SUPPORTED', 'SendMessage', -32005],
    [send(push), TOKEN, 'PUSH_NOT_SUPPORTED', 'SendMessage', -32003],
    [send(message('x', { taskId: 'nope' })), TOKEN, 'TASK_NOT_FOUND', 'SendMessage', -32001],
    [send({}, { method: 'Nope' }), TOKEN, 'METHOD_NOT_FOUND', 'Nope', -32601],
  ];
  for (const [body, token, code, method, rpcCode] of cases) {
    const answer = await served.post(body, { token });
    assert.equal(at(answer.body, 'error', 'code'), rpcCode, body);
    assert.deepEqual(seen(), [[token === TOKEN ? 'switch' : 'reader', code, method, body]], body);
  }
  const streamed = send({ message: { ...file.message } }, { method: 'SendStreamingMessage' });
  await served.post(streamed);
  assert.deepEqual(seen(), [['switch', 'CONTENT_TYPE_NOT_SUPPORTED', 'SendStreamingMessage', streamed]]);
});

test('a body that is not UTF-8 is a parse error and is reported without text', async (t) => {
  const { served, seen } = await keeping(t);
  const [before, after] = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: message('<>'),
  }).split('<>');
  const body = Buffer.concat([Buffer.from(before ?? ''), Buffer.from([0xff]), Buffer.from(after ?? '')]);
  const reply = await fetch(`${served.url}/jsonrpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
    body,
  });
  assert.equal(at(await reply.json(), 'error', 'code'), -32700);
  assert.deepEqual(seen(), [['switch', 'PARSE_ERROR', undefined, null]]);
});

test('a refused notification is reported', async (t) => {
  const { served, seen } = await keeping(t);
  const file = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ url: 'http://x/y.png' }] } };
  const bodies = [{}, file].map((params) =>
    JSON.stringify({ jsonrpc: '2.0', method: 'SendMessage', params }),
  );
  for (const body of bodies) assert.equal((await served.post(body)).status, 204);
  assert.deepEqual(seen(), [
    ['switch', 'INVALID_PARAMS', 'SendMessage', bodies[0]],
    ['switch', 'CONTENT_TYPE_NOT_SUPPORTED', 'SendMessage', bodies[1]],
  ]);
});

test('a body that was not read is reported without text, with its HTTP status', async (t) => {
  const { served, seen } = await keeping(t, { bodyLimitBytes: 16_384 });
  const large = await served.rpc('SendMessage', message('x'.repeat(16_384)));
  assert.deepEqual([large.status, at(large.body, 'error', 'code')], [413, -32600]);
  const typed = await served.rpc('SendMessage', message('x'), { headers: { 'content-type': 'text/plain' } });
  assert.equal(typed.status, 415);
  assert.deepEqual(seen(), [
    ['switch', 'BODY_TOO_LARGE', undefined, null],
    ['switch', 'UNSUPPORTED_MEDIA_TYPE', undefined, null],
  ]);
});

test('unauthenticated requests, successful ones, and errors of a handler or the intake are not reported', async (t) => {
  const { served, seen } = await keeping(t);
  assert.equal((await served.rpc('SendMessage', message('x'), { token: null })).status, 401);
  await served.rpc('SendMessage', message('x'));
  await served.rpc('GetTask', { id: 'nope' });
  await served.rpc('CancelTask', { id: 'nope' });
  await served.rpc('SubscribeToTask', { id: 'nope' });
  await served.rpc('SendMessage', message('x'), { token: ANNOUNCE_TOKEN });
  await served.rpc('SendMessage', dispatchMessage('a', { task: { task_id: 'a', priority: 'asap' } }));
  await served.rpc('SendStreamingMessage', dispatchMessage('a', { protocol_version: 1 }));
  await fetch(`${served.url}/.well-known/agent-card.json`, { method: 'POST' });
  assert.deepEqual(seen(), []);
});

test('a failing onRefused changes no answer and is logged', async (t) => {
  const served = await serve(t, {
    bodyLimitBytes: 1_000,
    onRefused: async () => {
      throw new Error('the disk is full');
    },
  });
  assert.equal(at((await served.post('{')).body, 'error', 'code'), -32700);
  assert.equal((await served.rpc('SendMessage', message('x'.repeat(1_000)))).status, 413);
  assert.equal(served.logLines.filter((line) => line.includes('the disk is full')).length, 2);
});

test("a service's own scope lets its caller send messages but read nothing", async (t) => {
  const { served, seen } = await keeping(t, { sendScopes: ['own:send'] });
  const sent = await served.rpc('SendMessage', message('x'), { token: OWN_TOKEN });
  // The intake checks its own scopes.
  assert.match(String(at(sent.body, 'error', 'message')), /lacks "dispatch"/);
  assert.deepEqual(seen(), []);
  const read = await served.rpc('GetTask', { id: 'x' }, { token: OWN_TOKEN });
  assert.deepEqual([read.status, at(read.body, 'error', 'code')], [403, -32000]);
  const named = await served.rpc('SendMessage', message('x'), { token: READ_TOKEN });
  assert.match(String(at(named.body, 'error', 'message')), /"dispatch" or "announce" or "own:send"/);
});
