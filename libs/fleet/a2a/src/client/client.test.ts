import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  FleetError,
  HANDSHAKE_EXTENSION,
  HANDSHAKE_MEDIA_TYPE,
  isJsonObject,
  type JsonObject,
} from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { fleetErrorOf, silentLog } from '@hermes-fleet/protocol/testing';
import { collect, peerServer } from '../../testing/peer-server.ts';
import { finish } from '../../testing/script.ts';
import { ANNOUNCE_TOKEN, dispatchMessage, type Served, serve, TOKEN } from '../../testing/serve.ts';
import { createA2AClient, jsonRpcUrl, type PeerEndpoint, type PeerTask, peerErrorCode } from '../index.ts';

const client = createA2AClient({ clock: systemClock, log: silentLog, extensions: [HANDSHAKE_EXTENSION] });
const soon = { timeoutMs: 10_000 };
const peerOf = ({ rpcUrl }: Served, token = TOKEN): PeerEndpoint => ({ name: 'neo', url: rpcUrl, token });

function dispatch(taskId: string, more: JsonObject = {}): JsonObject {
  const { message } = dispatchMessage(taskId, more);
  assert.ok(isJsonObject(message) && Array.isArray(message.parts) && isJsonObject(message.parts[0]));
  const { data } = message.parts[0];
  assert.ok(isJsonObject(data));
  return data;
}

test('send, get and cancel work against a real profile', async (t) => {
  const served = await serve(t, {
    script: async (id, { text }) =>
      text === 'wait' ? undefined : finish(served.ledger, id, 'done', { text: 'ok' }),
    replyMetadata: () => ({ [HANDSHAKE_EXTENSION]: { type: 'SESSION_ANNOUNCE' } }),
  });
  const peer = peerOf(served);
  const done = await client.send(peer, { messageId: 'm', data: dispatch('a'), blocking: true }, soon);
  assert.ok(done.kind === 'task');
  assert.deepEqual([done.task.state, done.task.terminal, done.task.text], ['completed', true, 'ok']);
  assert.equal(done.task.data[0]?.type, 'TASK_RESULT');
  assert.deepEqual(done.task.metadata[HANDSHAKE_EXTENSION], { type: 'SESSION_ANNOUNCE' });
  assert.deepEqual(await client.getTask(peer, done.task.id, soon), done.task);

  const open = await client.send(
    peer,
    { messageId: 'm', text: 'wait', contextId: 'c', blocking: false },
    soon,
  );
  assert.ok(open.kind === 'task');
  assert.deepEqual([open.task.state, open.task.terminal, open.task.contextId], ['submitted', false, 'c']);
  assert.equal((await client.cancelTask(peer, open.task.id, soon)).state, 'canceled');
});

test('the reply to an announce is a message with its data', async (t) => {
  const served = await serve(t);
  const announce: JsonObject = {
    type: 'SESSION_ANNOUNCE',
    protocol_version: '2.0',
    worker: { agent_id: 'switch', model: 'm', model_tier: 'sonnet', context_window: 1000 },
    capabilities: { tools: [], mcp_servers: [] },
    mcp_health: {},
    session: {
      context_id: 'x',
      active_tasks: 0,
      repo_state: { branch: 'main', clean: true },
      session_fresh: true,
    },
  };
  const message = { messageId: 'm', contextId: 'handshake:hermes-neo', data: announce, blocking: true };
  const reply = await client.send(peerOf(served, ANNOUNCE_TOKEN), message, soon);
  assert.deepEqual(reply, {
    kind: 'message',
    contextId: 'handshake:hermes-neo',
    text: 'ready',
    data: [announce],
    parts: [
      { kind: 'data', data: announce, mediaType: HANDSHAKE_MEDIA_TYPE },
      { kind: 'text', text: 'ready', mediaType: 'text/plain' },
    ],
  });
});

test('watch yields a snapshot per event and ends with the result; an ended task takes one read', async (t) => {
  const served = await serve(t, { script: async () => undefined });
  const peer = peerOf(served);
  const open = await client.send(peer, { messageId: 'm', data: dispatch('a'), blocking: false }, soon);
  assert.ok(open.kind === 'task');
  const { id } = open.task;
  const options = { signal: new AbortController().signal, idleTimeoutMs: 10_000 };
  const snapshots = client.watch(peer, id, options);
  assert.equal((await snapshots.next()).value?.state, 'submitted');
  await served.ledger.append(id, { type: 'started', data: {} });
  await served.ledger.append(id, { type: 'text', data: { text: 'a' } });
  await served.ledger.append(id, { type: 'text', data: { text: 'b' } });
  await finish(served.ledger, id, 'partial', { remaining: ['docs'], text: 'ab!' });
  const all = await collect(snapshots);
  assert.deepEqual(
    all.slice(0, 3).map(({ state, text }) => [state, text]),
    [
      ['working', ''],
      ['working', 'a'],
      ['working', 'ab'],
    ],
  );
  const last = all.at(-1);
  assert.deepEqual(
    [last?.state, last?.terminal, last?.text, last?.data[0]?.status],
    ['completed', true, 'ab!', 'partial'],
  );
  const [again, ...more] = await collect(client.watch(peer, id, options));
  const sorted = (task: PeerTask | undefined) => task?.artifacts.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const { updateMetadata, ...withoutUpdate } = last ?? {};
  assert.ok(updateMetadata, 'only a stream has it');
  // A stream lists artifacts in the order of their events.
  assert.deepEqual(
    [{ ...again, artifacts: [] }, sorted(again), more],
    [{ ...withoutUpdate, artifacts: [] }, sorted(last), []],
  );
});

test('a stream that ends early or falls silent is PEER_UNREACHABLE; returning early closes it', async (t) => {
  const served = await serve(t, { script: async () => undefined, maxStreamsPerCaller: 1 });
  const peer = peerOf(served);
  const open = await client.send(peer, { messageId: 'm', data: dispatch('a'), blocking: false }, soon);
  assert.ok(open.kind === 'task');
  const { id } = open.task;
  const { signal } = new AbortController();

  for await (const _ of client.watch(peer, id, { signal, idleTimeoutMs: 10_000 })) break;

  // The only stream slot is free again once the server has noticed the disconnect.
  let error: FleetError;
  do error = await fleetErrorOf(collect(client.watch(peer, id, { signal, idleTimeoutMs: 50 })));
  while (peerErrorCode(error) === 'TOO_MANY_STREAMS');
  assert.deepEqual([error.code, error.retryable], ['PEER_UNREACHABLE', true]);

  let dropped = client.watch(peer, id, { signal, idleTimeoutMs: 10_000 });
  while ((await dropped.next().catch(peerErrorCode)) === 'TOO_MANY_STREAMS') {
    dropped = client.watch(peer, id, { signal, idleTimeoutMs: 10_000 });
  }
  await served.closeStreams();
  assert.equal((await fleetErrorOf(dropped.next())).code, 'PEER_UNREACHABLE');
});

test("the caller's own abort rejects with its reason", async (t) => {
  const served = await serve(t, { script: async () => undefined });
  const peer = peerOf(served);
  const reason = new FleetError('CANCELED', 'canceled by its caller');
  const leaving = new AbortController();
  const waiting = client.send(
    peer,
    { messageId: 'm', text: 'x', blocking: true },
    { ...soon, signal: leaving.signal },
  );
  leaving.abort(reason);
  await assert.rejects(waiting, reason);
  await assert.rejects(client.getTask(peer, 'x', { ...soon, signal: AbortSignal.abort(reason) }), reason);
});

test("a profile's refusals keep their code, fields and retryability", async (t) => {
  const served = await serve(t);
  const peer = peerOf(served);
  const unknown = await fleetErrorOf(client.getTask(peer, 'nope', soon));
  assert.deepEqual(
    [unknown.code, peerErrorCode(unknown), unknown.retryable],
    ['PEER_REFUSED', 'TASK_NOT_FOUND', false],
  );
  const bad = { messageId: 'm', data: dispatch('a', { deadline: 'soon' }), blocking: true };
  const wrong = await fleetErrorOf(client.send(peer, bad, soon));
  assert.deepEqual(
    [peerErrorCode(wrong), wrong.fields.map(({ path }) => path)],
    ['INVALID_PARAMS', ['deadline']],
  );
  assert.match(wrong.message, /deadline/);
  const denied = await fleetErrorOf(client.getTask(peerOf(served, 'wrong-token-0123456789'), 'x', soon));
  assert.equal(peerErrorCode(denied), 'UNAUTHENTICATED');
  const scope = await fleetErrorOf(client.getTask(peerOf(served, ANNOUNCE_TOKEN), 'x', soon));
  assert.equal(peerErrorCode(scope), 'FORBIDDEN');
  await served.closeStreams();
  const stopping = await fleetErrorOf(client.send(peer, { messageId: 'm', text: 'x', blocking: true }, soon));
  assert.deepEqual(
    [peerErrorCode(stopping), stopping.retryable, stopping.retryAfterS],
    ['SHUTTING_DOWN', true, 5],
  );
  await served.app.close();
  const gone = await fleetErrorOf(client.getTask(peer, 'x', soon));
  assert.deepEqual([gone.code, gone.retryable], ['PEER_UNREACHABLE', true]);
  assert.match(gone.message, /ECONN|UND_ERR/);
});

test('requests carry token, version, extensions and trace; card requests carry no token', async (t) => {
  const seen: Record<string, unknown>[] = [];
  const peer = await peerServer(t, (request, response) => {
    seen.push(request.headers);
    response.writeHead(404).end();
  });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await fleetErrorOf(client.getTask(peer, 'x', { ...soon, traceparent }));
  await fleetErrorOf(client.card(peer.url, soon));
  const [call, card] = seen;
  assert.equal(call?.authorization, 'Bearer odd-token-0123456789');
  assert.equal(call?.['a2a-version'], '1.0');
  assert.equal(call?.['a2a-extensions'], HANDSHAKE_EXTENSION);
  assert.equal(call?.traceparent, traceparent);
  assert.equal(card?.authorization, undefined);
});

test("card reads a profile's agent card and refuses an invalid one", async (t) => {
  const served = await serve(t);
  const card = await client.card(`${served.url}/.well-known/agent-card.json`, soon);
  assert.equal(card.name, 'neo');
  assert.equal(card.capabilities?.extensions[0]?.uri, HANDSHAKE_EXTENSION);
  for (const body of [
    '{}',
    'no',
    '{"name":"x","supportedInterfaces":[{"url":"file:///etc/passwd","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}',
  ]) {
    const peer = await peerServer(t, (_request, response) => response.end(body));
    assert.equal((await fleetErrorOf(client.card(peer.url, soon))).code, 'PEER_REFUSED', body);
  }
});

test('listTasks reads all pages of the tasks of one context, with their message ids', async (t) => {
  const asked: string[] = [];
  const task = (id: string, contextId: string, history: JsonObject[]): JsonObject => ({
    id,
    contextId,
    history,
    status: { state: 'TASK_STATE_WORKING', message: { parts: [{ text: 'which one?' }] } },
  });
  const pages = [
    {
      tasks: [task('1', 'c', [{ messageId: 'm-1', parts: [] }, { parts: [] }]), task('2', 'd', [])],
      nextPageToken: 'p',
    },
    { tasks: [task('3', 'c', [])], nextPageToken: '' },
  ];
  const peer = await peerServer(t, (request, response) => {
    asked.push(request.url ?? '');
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: pages[asked.length - 1] }));
  });
  const listed = await client.listTasks(peer, 'c', soon);
  assert.deepEqual(
    listed.map(({ task: { id, statusText }, messageIds }) => [id, statusText, messageIds]),
    [
      ['1', 'which one?', ['m-1']],
      ['3', 'which one?', []],
    ],
  );
  const served = await serve(t);
  await client.send(peerOf(served), { messageId: 'm', contextId: 'k', text: 'x', blocking: true }, soon);
  assert.equal((await client.listTasks(peerOf(served), 'k', soon)).length, 1);
});

test("a call with a timeout longer than fetch's own behaves like any other", async (t) => {
  const patient = { timeoutMs: 600_000 };
  const served = await serve(t);
  const done = await client.send(peerOf(served), { messageId: 'm', text: 'x', blocking: true }, patient);
  assert.ok(done.kind === 'task' && done.task.state === 'completed');
  const denied = await fleetErrorOf(client.getTask(peerOf(served, 'wrong-token-0123456789'), 'x', patient));
  assert.equal(peerErrorCode(denied), 'UNAUTHENTICATED');
  const mute = await peerServer(t, () => undefined);
  const leaving = new AbortController();
  const reason = new FleetError('CANCELED', 'canceled by its caller');
  const waiting = client.getTask(mute, 'x', { ...patient, signal: leaving.signal });
  leaving.abort(reason);
  await assert.rejects(waiting, reason);
  const gone = await fleetErrorOf(client.getTask({ name: 'gone', url: 'http://127.0.0.1:1/' }, 'x', patient));
  assert.deepEqual([gone.code, gone.retryable], ['PEER_UNREACHABLE', true]);
  assert.match(gone.message, /ECONNREFUSED/);
});

test('jsonRpcUrl finds the JSON-RPC interface of A2A 1.x in an agent card', () => {
  const at = (url: string, protocolBinding: string, protocolVersion: string) => ({
    url,
    protocolBinding,
    protocolVersion,
    tenant: '',
  });
  const grpc = at('http://a/grpc', 'GRPC', '1.0');
  const old = at('http://a/old', 'JSONRPC', '0.3');
  assert.equal(
    jsonRpcUrl({ supportedInterfaces: [grpc, old, at('http://a/', 'JSONRPC', '1.0')] }),
    'http://a/',
  );
  assert.equal(jsonRpcUrl({ supportedInterfaces: [grpc, old] }), undefined);
});
