import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { HANDSHAKE_EXTENSION } from '@hermes-fleet/protocol';
import { manualClock } from '@hermes-fleet/protocol/testing';
import { finish } from '../../testing/script.ts';
import { at, dispatchMessage, message, OTHER_TOKEN, type Served, serve, TOKEN } from '../../testing/serve.ts';
import { openStream, type SseMessage } from '../../testing/sse.ts';
import { EVENT_METADATA } from '../wire/event-metadata.ts';

const kindOf = ({ data }: SseMessage): string => Object.keys(Object(data.result))[0] ?? 'none';
const stateOf = ({ data }: SseMessage): unknown =>
  at(data, 'result', 'statusUpdate', 'status', 'state') ?? at(data, 'result', 'task', 'status', 'state');
const textOf = ({ data }: SseMessage): unknown =>
  at(data, 'result', 'artifactUpdate', 'artifact', 'parts', 0, 'text');
const eventOf = ({ data }: SseMessage): unknown =>
  at(data, 'result', 'statusUpdate', 'metadata', EVENT_METADATA, 'type');
/** The log event behind an update, as a client that shows progress reads it. */
const dataOf = ({ data }: SseMessage): unknown =>
  at(data, 'result', 'statusUpdate', 'metadata', EVENT_METADATA, 'data');

const IDLE = async (): Promise<void> => undefined;

async function begin(served: Served, taskId = 'a'): Promise<string> {
  const params = { ...dispatchMessage(taskId), configuration: { returnImmediately: true } };
  return String(at((await served.rpc('SendMessage', params)).body, 'result', 'task', 'id'));
}

/** A task with two text events. */
async function live({ ledger }: Served, id: string): Promise<void> {
  await ledger.append(id, { type: 'started', data: {} });
  await ledger.append(id, { type: 'text', data: { text: 'one ' } });
  await ledger.append(id, { type: 'progress', data: { message: 'step 1' } });
  await ledger.append(id, { type: 'text', data: { text: 'two' } });
  await finish(ledger, id, 'done', { text: 'one two, done' });
}

test('SendStreamingMessage sends the task, its updates, the artifacts and the final status', async (t) => {
  const served = await serve(t, { script: (id) => live(served, id) });
  const stream = await openStream(served, 'SendStreamingMessage', dispatchMessage('a'), {
    'a2a-extensions': HANDSHAKE_EXTENSION,
  });
  assert.equal(stream.response.headers.get('a2a-extensions'), HANDSHAKE_EXTENSION);
  const events = await stream.rest();
  assert.equal(kindOf(events[0] ?? { id: undefined, data: {} }), 'task');
  assert.ok(events.slice(1).every((event) => kindOf(event) !== 'task'));
  const final = events.at(-1);
  assert.ok(final);
  assert.deepEqual([kindOf(final), stateOf(final)], ['statusUpdate', 'TASK_STATE_COMPLETED']);
  const artifacts = events.filter((event) => kindOf(event) === 'artifactUpdate').slice(-2);
  assert.equal(at(artifacts[0]?.data, 'result', 'artifactUpdate', 'artifact', 'name'), 'task-result');
  assert.equal(textOf(artifacts[1] ?? final), 'one two, done');
  const ids = events.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]));
  assert.deepEqual(
    ids,
    ids.toSorted((a, b) => a - b),
  );
  assert.equal(new Set(ids).size, ids.length);
});

test('SubscribeToTask follows a running task from its current state, including its text so far', async (t) => {
  const served = await serve(t, { script: IDLE });
  const id = await begin(served);
  await served.ledger.append(id, { type: 'started', data: {} });
  await served.ledger.append(id, { type: 'text', data: { text: 'one ' } });
  const stream = await openStream(served, 'SubscribeToTask', { id });
  const first = await stream.next();
  assert.ok(first);
  assert.equal(stateOf(first), 'TASK_STATE_WORKING');
  assert.equal(at(first.data, 'result', 'task', 'artifacts', 0, 'parts', 0, 'text'), 'one ');
  await served.ledger.append(id, { type: 'text', data: { text: 'two' } });
  const second = await stream.next();
  assert.ok(second);
  assert.deepEqual([textOf(second), at(second.data, 'result', 'artifactUpdate', 'append')], ['two', true]);
  await served.ledger.append(id, { type: 'progress', data: { message: 'step 1' } });
  const third = await stream.next();
  assert.ok(third);
  assert.deepEqual([eventOf(third), stateOf(third)], ['progress', 'TASK_STATE_WORKING']);
  assert.equal(at(third.data, 'result', 'statusUpdate', 'status', 'message', 'parts', 0, 'text'), 'step 1');
  const told = { tool: 'shell_exec', phase: 'ended', spent_tokens: 1_200, budget_tokens: 60_000 };
  await served.ledger.append(id, { type: 'progress', data: told });
  const fourth = await stream.next();
  assert.ok(fourth);
  assert.deepEqual(dataOf(fourth), told);
  await served.ledger.append(id, { type: 'progress', data: {} }, { state: 'input_required' });
  const asked = await stream.next();
  assert.equal(asked && stateOf(asked), 'TASK_STATE_INPUT_REQUIRED');
  await finish(served.ledger, id);
  assert.equal((await stream.rest()).length, 3);
});

test('streams of one task begin alike; the metadata of an extension is for clients that asked for it', async (t) => {
  let seq = 0;
  const replyMetadata = () => ({ [HANDSHAKE_EXTENSION]: { seq: ++seq } });
  const served = await serve(t, { script: IDLE, replyMetadata });
  const id = await begin(served);
  const first = async (headers: Record<string, string> = {}) =>
    (await (await openStream(served, 'SubscribeToTask', { id }, headers)).next())?.data;
  const [one, two] = [await first(), await first()];
  assert.deepEqual(one, two);
  assert.equal(at(one, 'result', 'task', 'metadata'), undefined);
  const informed = await first({ 'a2a-extensions': HANDSHAKE_EXTENSION });
  assert.equal(at(informed, 'result', 'task', 'metadata', HANDSHAKE_EXTENSION, 'seq'), seq);
});

test('Last-Event-ID resumes after any event of a log without a gap or a repetition', async (t) => {
  const served = await serve(t, { script: IDLE });
  const id = await begin(served);
  const whole = await openStream(served, 'SubscribeToTask', { id });
  await live(served, id);
  const all = await whole.rest();
  const known = all.filter((event) => event.id !== undefined);
  assert.equal(known.length, 6);
  for (const [index, event] of known.entries()) {
    const lastEventId = event.id ?? '';
    const resumed = await openStream(served, 'SubscribeToTask', { id }, { 'last-event-id': lastEventId });
    const [first, ...rest] = await resumed.rest();
    assert.ok(first);
    assert.equal(kindOf(first), 'task');
    assert.equal(first.id, lastEventId);
    const after = all.slice(all.indexOf(event) + 1);
    assert.deepEqual(rest, after, `after event ${index}`);
  }
  const half = await openStream(served, 'SubscribeToTask', { id }, { 'last-event-id': known[2]?.id ?? '' });
  const [snapshot] = await half.rest();
  assert.ok(snapshot);
  assert.equal(stateOf(snapshot), 'TASK_STATE_WORKING');
  assert.equal(at(snapshot.data, 'result', 'task', 'artifacts'), undefined, 'the client has the text');
});

test('SubscribeToTask refuses ended, unknown and foreign tasks, and an event id that the log has not issued', async (t) => {
  const served = await serve(t);
  const id = await begin(served);
  const codeOf = async (id: string, headers: Record<string, string> = {}, token = TOKEN): Promise<unknown> =>
    at((await served.rpc('SubscribeToTask', { id }, { headers, token })).body, 'error', 'code');
  assert.equal(await codeOf(id), -32004);
  assert.equal(await codeOf('unknown'), -32001);
  assert.equal(await codeOf(id, {}, OTHER_TOKEN), -32001);
  assert.equal(await codeOf(id, { 'last-event-id': '999999' }), -32602);
  assert.equal(await codeOf(id, { 'last-event-id': 'x' }), -32602);
});

test('A2A 0.3: message/stream and tasks/resubscribe stream with the final flag', async (t) => {
  const served = await serve(t, { script: IDLE });
  const stream = await openStream(served, 'message/stream', {
    message: { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'go' }] },
  });
  const first = await stream.next();
  assert.equal(at(first?.data, 'result', 'kind'), 'task');
  const id = String(at(first?.data, 'result', 'id'));
  const again = await openStream(served, 'tasks/resubscribe', { id });
  await finish(served.ledger, id);
  for (const events of [await stream.rest(), await again.rest()]) {
    assert.equal(at(events.at(-1)?.data, 'result', 'final'), true);
    assert.equal(at(events.at(-1)?.data, 'result', 'status', 'state'), 'completed');
  }
  const late = await (await openStream(served, 'tasks/resubscribe', { id })).rest();
  const task = at(late[0]?.data, 'result');
  assert.deepEqual([late.length, at(task, 'kind'), at(task, 'status', 'state')], [1, 'task', 'completed']);
  assert.equal(at(task, 'artifacts', 0, 'name'), 'task-result');
});

test('a client that disconnects from a stream ends only that stream', async (t) => {
  const served = await serve(t, { script: IDLE, maxStreamsPerCaller: 1 });
  const id = await begin(served);
  const leaving = await stalled(served, id);
  const full = await served.rpc('SubscribeToTask', { id });
  assert.deepEqual([full.status, at(full.body, 'error', 'code')], [429, -32000]);
  assert.equal(at(full.body, 'error', 'data', 0, 'reason'), 'TOO_MANY_STREAMS');
  assert.equal(full.headers.get('retry-after'), '1');
  leaving.destroy();
  // The stream slot is free again once the server has noticed the disconnect.
  const follower = await untilOpen(served, id);
  await live(served, id);
  const events = await follower.rest();
  assert.equal(stateOf(events.at(-1) ?? { id: undefined, data: {} }), 'TASK_STATE_COMPLETED');
});

async function untilOpen(served: Served, id: string): ReturnType<typeof openStream> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await openStream(served, 'SubscribeToTask', { id });
    } catch (thrown) {
      if (attempt === 200) throw thrown;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

test('a SendStreamingMessage above the stream limit leaves no task behind', async (t) => {
  const served = await serve(t, { script: IDLE, maxStreamsPerCaller: 1 });
  const id = await begin(served);
  const stream = await openStream(served, 'SubscribeToTask', { id });
  const refused = await served.rpc('SendStreamingMessage', message('more'));
  assert.equal(refused.status, 429);
  assert.equal(served.ledger.list({ pageSize: 10 }).totalSize, 1);
  await finish(served.ledger, id);
  await stream.rest();
});

test('a client that reads nothing delays neither the task, other clients nor closing', async (t) => {
  const served = await serve(t, { script: IDLE });
  const id = await begin(served);
  const socket = await stalled(served, id);
  t.after(() => socket.destroy());
  const reader = await openStream(served, 'SubscribeToTask', { id });
  const chunk = 'x'.repeat(64_000);
  for (let n = 0; n < 200; n += 1) await served.ledger.append(id, { type: 'text', data: { text: chunk } });
  await finish(served.ledger, id);
  const events = await reader.rest();
  assert.equal(events.filter((event) => textOf(event) === chunk).length, 200);
  await served.closeStreams();
  await served.app.close();
});

test('a client that reads nothing for a minute is disconnected, and its stream slot is free again', async (t) => {
  const clock = manualClock();
  const served = await serve(t, { script: IDLE, clock, maxStreamsPerCaller: 1 });
  const id = await begin(served);
  const socket = await stalled(served, id);
  t.after(() => socket.destroy());
  const chunk = 'x'.repeat(64_000);
  for (let n = 0; n < 200; n += 1) await served.ledger.append(id, { type: 'text', data: { text: chunk } });
  const pass = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const isCut = (): boolean => served.logLines.some((line) => line.includes('"aborted":true'));
  for (; !isCut(); await pass()) clock.advance(60_000);
  const follower = await untilOpen(served, id);
  await finish(served.ledger, id);
  assert.equal((await follower.rest()).length, 4);
});

/** A subscriber that sends its request and never reads the answer. */
function stalled(served: Served, id: string): Promise<Socket> {
  const { hostname, port } = new URL(served.url);
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } });
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(port), host: hostname });
    socket.on('error', reject);
    socket.once('readable', () => {
      socket.off('error', reject).on('error', () => undefined);
      resolve(socket);
    });
    socket.write(
      `POST /jsonrpc HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: Bearer ${TOKEN}\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  });
}

test('an idle stream carries heartbeats', async (t) => {
  const served = await serve(t, { script: IDLE, heartbeatMs: 10 });
  const id = await begin(served);
  const stream = await openStream(served, 'SubscribeToTask', { id });
  await stream.next();
  const rest = stream.rest();
  while (stream.comments() < 3) await new Promise((resolve) => setImmediate(resolve));
  await finish(served.ledger, id);
  assert.equal((await rest).length, 3);
});

test('the head of a stream keeps proxies from caching and buffering it, and echoes extensions', async (t) => {
  const served = await serve(t, { script: (id) => finish(served.ledger, id) });
  const answer = await fetch(served.rpcUrl, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${TOKEN}`,
      'a2a-extensions': HANDSHAKE_EXTENSION,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendStreamingMessage',
      params: message('hi'),
    }),
  });
  const names = ['content-type', 'cache-control', 'x-accel-buffering', 'a2a-extensions'];
  assert.deepEqual(
    names.map((name) => answer.headers.get(name)),
    ['text/event-stream', 'no-cache', 'no', HANDSHAKE_EXTENSION],
  );
  assert.equal(answer.status, 200);
  await answer.text();
});

test('closing the app ends every open stream', async (t) => {
  const served = await serve(t, { script: IDLE });
  const id = await begin(served);
  const streams = await Promise.all(
    Array.from({ length: 20 }, () => openStream(served, 'SubscribeToTask', { id })),
  );
  await Promise.all(streams.map((stream) => stream.next()));
  await served.app.close();
  for (const stream of streams) assert.deepEqual(await stream.rest(), []);
  assert.equal(served.ledger.get(id)?.state, 'submitted');
});
