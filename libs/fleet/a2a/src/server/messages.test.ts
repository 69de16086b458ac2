import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { test } from 'node:test';
import {
  HANDSHAKE_EXTENSION,
  HANDSHAKE_MEDIA_TYPE,
  isJsonObject,
  type JsonObject,
} from '@hermes-fleet/protocol';
import { manualClock } from '@hermes-fleet/protocol/testing';
import { finish } from '../../testing/script.ts';
import { at, dispatchMessage, message, OTHER_TOKEN, serve, TOKEN } from '../../testing/serve.ts';

const ANNOUNCE: JsonObject = {
  type: 'SESSION_ANNOUNCE',
  protocol_version: '2.0',
  worker: { agent_id: 'switch', model: 'm', model_tier: 'sonnet', context_window: 1000 },
  capabilities: { tools: ['file'], mcp_servers: [] },
  mcp_health: {},
  session: {
    context_id: 'handshake:hermes-neo',
    active_tasks: 0,
    repo_state: { branch: 'main', clean: true },
    session_fresh: true,
  },
  later_field: { kept: true },
};

const state = (body: unknown): unknown => at(body, 'result', 'task', 'status', 'state');

test('SendMessage waits for the end by default and answers with result and text artifacts', async (t) => {
  const served = await serve(t, {
    script: async (id) => {
      await served.ledger.append(id, { type: 'started', data: {} });
      await finish(served.ledger, id, 'done', { text: 'built', tokens_spent: 12 });
    },
  });
  for (const path of ['/jsonrpc', '/jsonrpc/', '/']) {
    const { body } = await served.rpc('SendMessage', dispatchMessage(`t${path}`), { path });
    assert.equal(state(body), 'TASK_STATE_COMPLETED', path);
    const [result, text] = [
      at(body, 'result', 'task', 'artifacts', 0),
      at(body, 'result', 'task', 'artifacts', 1),
    ];
    assert.equal(at(result, 'name'), 'task-result');
    assert.equal(at(result, 'parts', 0, 'mediaType'), HANDSHAKE_MEDIA_TYPE);
    assert.equal(at(result, 'parts', 0, 'data', 'type'), 'TASK_RESULT');
    assert.equal(at(result, 'parts', 0, 'data', 'tokens_spent'), 12);
    assert.equal(at(text, 'parts', 0, 'text'), 'built');
  }
});

test('returnImmediately answers at once in either spelling, and the task has A2A fields only', async (t) => {
  const served = await serve(t, {
    script: async () => undefined,
    replyMetadata: () => ({ [HANDSHAKE_EXTENSION]: ANNOUNCE }),
  });
  for (const spelling of ['returnImmediately', 'return_immediately']) {
    const configuration = { [spelling]: true };
    const { body } = await served.rpc('SendMessage', { ...message('hi'), configuration });
    assert.equal(state(body), 'TASK_STATE_SUBMITTED');
    const task = at(body, 'result', 'task');
    assert.ok(isJsonObject(task));
    assert.deepEqual(Object.keys(task).sort(), ['contextId', 'history', 'id', 'metadata', 'status']);
    assert.deepEqual(at(task, 'metadata', HANDSHAKE_EXTENSION, 'worker', 'agent_id'), 'switch');
  }
});

test('historyLength 0 hides the history; without it the history holds the message with its ids', async (t) => {
  const served = await serve(t);
  const without = await served.rpc('SendMessage', { ...message('hi'), configuration: { historyLength: 0 } });
  assert.equal(at(without.body, 'result', 'task', 'history'), undefined);
  const id = String(at(without.body, 'result', 'task', 'id'));
  const { body } = await served.rpc('GetTask', { id });
  assert.equal(at(body, 'result', 'history', 0, 'parts', 0, 'text'), 'hi');
  assert.equal(at(body, 'result', 'history', 0, 'taskId'), id);
  assert.equal(at(body, 'result', 'history', 0, 'contextId'), at(body, 'result', 'contextId'));
  assert.equal(
    at((await served.rpc('GetTask', { id, history_length: 0 })).body, 'result', 'history'),
    undefined,
  );
});

test('snake_case parameters are understood, and unknown fields reach the intake', async (t) => {
  const served = await serve(t);
  const { body } = await served.rpc('SendMessage', {
    message: {
      message_id: 'm-9',
      context_id: 'ctx-9',
      role: 'ROLE_USER',
      parts: [{ text: 'hi', media_type: 'text/plain' }],
      x_vendor: 1,
    },
  });
  assert.equal(at(body, 'result', 'task', 'contextId'), 'ctx-9');
  const [inbound] = served.intake.inbound;
  assert.deepEqual([inbound?.messageId, inbound?.contextId, inbound?.text], ['m-9', 'ctx-9', 'hi']);
  assert.equal(inbound?.raw.x_vendor, 1);
});

test("the intake receives the request's trace context", async (t) => {
  const served = await serve(t);
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  await served.rpc('SendMessage', dispatchMessage('traced'), { headers: { traceparent } });
  assert.match(
    served.intake.inbound[0]?.traceparent ?? '',
    /^00-4bf92f3577b34da6a3ce929d0e0e4736-(?!00f067aa0ba902b7)[0-9a-f]{16}-01$/,
  );
});

test('the reply to an announce is a message with the announce and its unknown fields, also as a stream', async (t) => {
  const served = await serve(t);
  const params = {
    message: {
      messageId: 'm',
      contextId: 'handshake:hermes-neo',
      role: 'ROLE_USER',
      parts: [{ data: ANNOUNCE, mediaType: HANDSHAKE_MEDIA_TYPE }],
    },
  };
  const { body } = await served.rpc('SendMessage', params);
  const reply = at(body, 'result', 'message');
  assert.equal(at(reply, 'role'), 'ROLE_AGENT');
  assert.equal(at(reply, 'contextId'), 'handshake:hermes-neo');
  assert.deepEqual(at(reply, 'parts', 0, 'data'), ANNOUNCE);
  assert.equal(served.ledger.list({ pageSize: 10 }).totalSize, 0);
  const streamed = await fetch(served.rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params }),
  });
  assert.match(await streamed.text(), /^data: .*"message".*SESSION_ANNOUNCE.*\n\n$/);
});

test('A2A-Extensions echoes the requested extensions that are supported, and is optional', async (t) => {
  const served = await serve(t);
  const headers = { 'a2a-extensions': `urn:other, ${HANDSHAKE_EXTENSION}` };
  const asked = await served.rpc('SendMessage', dispatchMessage('a'), { headers });
  assert.equal(asked.headers.get('a2a-extensions'), HANDSHAKE_EXTENSION);
  const silent = await served.rpc('SendMessage', dispatchMessage('b'));
  assert.equal(silent.headers.get('a2a-extensions'), null);
  assert.equal(state(silent.body), 'TASK_STATE_COMPLETED');
});

test('a message to an unknown or foreign task is -32001, to another context -32602, to an ended task -32004', async (t) => {
  const served = await serve(t, { script: async () => undefined });
  const open = { returnImmediately: true };
  const { body } = await served.rpc('SendMessage', { ...message('hi'), configuration: open });
  const taskId = String(at(body, 'result', 'task', 'id'));
  const codeOf = async (more: JsonObject, token = TOKEN): Promise<unknown> => {
    const params = { ...message('again', more), configuration: open };
    return at((await served.rpc('SendMessage', params, { token })).body, 'error', 'code');
  };
  assert.equal(await codeOf({ taskId: 'no-such-task' }), -32001);
  assert.equal(await codeOf({ taskId }, OTHER_TOKEN), -32001);
  assert.equal(await codeOf({ taskId, contextId: 'another' }), -32602);
  const before = served.intake.inbound.length;
  assert.equal(await codeOf({ taskId }), undefined);
  const inferred = served.intake.inbound[before];
  assert.equal(inferred?.contextId, at(body, 'result', 'task', 'contextId'));
  await finish(served.ledger, taskId);
  assert.equal(await codeOf({ taskId }), -32004);
});

test('a repeated messageId creates a task each time; one hundred copies of one dispatch create one', async (t) => {
  const served = await serve(t);
  const first = await served.rpc('SendMessage', message('hi'));
  const second = await served.rpc('SendMessage', message('hi'));
  assert.notEqual(at(first.body, 'result', 'task', 'id'), at(second.body, 'result', 'task', 'id'));
  const copies = await Promise.all(
    Array.from({ length: 100 }, () => served.rpc('SendMessage', dispatchMessage('copy'))),
  );
  assert.equal(new Set(copies.map(({ body }) => at(body, 'result', 'task', 'id'))).size, 1);
  assert.ok(copies.every(({ body }) => state(body) === 'TASK_STATE_COMPLETED'));
  assert.equal(served.ledger.list({ pageSize: 10 }).totalSize, 3);
});

test('a task that asks ends the wait with INPUT_REQUIRED', async (t) => {
  const served = await serve(t, {
    script: async (id) => {
      await served.ledger.append(id, { type: 'started', data: {} });
      await served.ledger.append(id, { type: 'progress', data: {} }, { state: 'input_required' });
    },
  });
  const { body } = await served.rpc('SendMessage', message('hi'));
  assert.equal(state(body), 'TASK_STATE_INPUT_REQUIRED');
});

test('a long wait sends its headers after 30 s and a space every 30 s, then the answer', async (t) => {
  const clock = manualClock();
  const ids: string[] = [];
  const served = await serve(t, { clock, script: async (id) => void ids.push(id) });
  const { hostname, port } = new URL(served.url);
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${TOKEN}`,
    'a2a-extensions': HANDSHAKE_EXTENSION,
  };
  const call = request({ hostname, port, path: '/jsonrpc', method: 'POST', headers });
  call.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: message('slow') }));
  await clock.armed(30_000);
  clock.advance(30_000);
  const [response] = await once(call, 'response');
  assert.equal(response.statusCode, 200);
  assert.equal(response.headers['content-type'], 'application/json; charset=utf-8');
  assert.equal(response.headers['a2a-extensions'], HANDSHAKE_EXTENSION);
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  if (text === '') await once(response, 'data');
  clock.advance(30_000);
  await once(response, 'data');
  assert.equal(text, '  ');
  const [taskId = ''] = ids;
  await finish(served.ledger, taskId);
  await once(response, 'end');
  assert.equal(state(JSON.parse(text)), 'TASK_STATE_COMPLETED');
});

test('waiting calls share one timer for their heartbeats', async (t) => {
  const clock = manualClock();
  const served = await serve(t, { clock, script: (id) => finish(served.ledger, id) });
  for (let call = 0; call < 3; call += 1) await served.rpc('SendMessage', message('quick'));
  assert.equal(clock.timers, 1);
  clock.advance(15_000);
  await served.rpc('SendMessage', message('quick'));
  clock.advance(15_000);
  assert.equal(clock.timers, 0, 'an answered call has no heartbeat left');
  await served.rpc('SendMessage', message('quick'));
  assert.equal(clock.timers, 1);
  await served.app.close();
  assert.equal(clock.timers, 0);
});

test('a client that disconnects from a waiting call ends only that call', async (t) => {
  const accepted = Promise.withResolvers<string>();
  const served = await serve(t, { script: async (id) => accepted.resolve(id) });
  const leaving = new AbortController();
  const call = served.rpc('SendMessage', message('slow'), { signal: leaving.signal });
  const id = await accepted.promise;
  leaving.abort();
  await assert.rejects(call);
  await finish(served.ledger, id);
  const { body } = await served.rpc('GetTask', { id });
  assert.equal(at(body, 'result', 'status', 'state'), 'TASK_STATE_COMPLETED');
  await served.closeStreams();
});

test('closing answers a waiting call with the current task and refuses new calls as retryable', async (t) => {
  const accepted = Promise.withResolvers<string>();
  const served = await serve(t, { script: async (id) => accepted.resolve(id) });
  const call = served.rpc('SendMessage', message('slow'));
  const id = await accepted.promise;
  await served.closeStreams();
  const { body } = await call;
  assert.deepEqual([state(body), at(body, 'result', 'task', 'id')], ['TASK_STATE_SUBMITTED', id]);
  const refused = await served.rpc('SendMessage', message('late'));
  assert.deepEqual([refused.status, at(refused.body, 'error', 'data', 0, 'reason')], [503, 'SHUTTING_DOWN']);
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  assert.equal((await served.rpc('GetTask', { id })).status, 200);
});

test('waiting calls are limited per caller', async (t) => {
  const accepted = Promise.withResolvers<void>();
  const served = await serve(t, { maxWaitingPerCaller: 1, script: async () => accepted.resolve() });
  const first = served.rpc('SendMessage', message('slow'));
  await accepted.promise;
  const second = await served.rpc('SendMessage', message('slow'));
  assert.deepEqual([second.status, at(second.body, 'error', 'data', 0, 'reason')], [429, 'TOO_MANY_STREAMS']);
  assert.equal(
    (
      await served.rpc(
        'SendMessage',
        { ...message('x'), configuration: { returnImmediately: true } },
        { token: OTHER_TOKEN },
      )
    ).status,
    200,
  );
  await served.closeStreams();
  await first;
});
