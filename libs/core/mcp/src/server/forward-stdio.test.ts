import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { json, text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { isJsonObject } from '@hermes-fleet/protocol';
import { manualClock } from '@hermes-fleet/protocol/testing';
import { statelessRequest } from '../../testing/index.ts';
import { forwardStdio } from './forward-stdio.ts';

/** A forwarder to a server whose every request is answered by the test. Its output is read once `reading` resolves. */
async function forwarder(t: TestContext, reading: Promise<void> = Promise.resolve()) {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const [input, output, clock] = [new PassThrough(), new PassThrough(), manualClock()];
  const errors: string[] = [];
  const done = forwardStdio({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    token: 'secret',
    input,
    output,
    clock,
    fetch,
    onError: (message) => errors.push(message),
  }).finally(() => output.end());
  const write = (message: object): unknown =>
    input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  /** Sends a message, and returns the response to it. */
  async function send(message: object): Promise<ServerResponse> {
    const came = once(server, 'request');
    write(message);
    const [request, response] = await came;
    assert.ok(isJsonObject(await json(request)));
    return response;
  }
  /** Sends a message as the whole input, and returns the response to it. */
  async function sendAll(message: object): Promise<ServerResponse> {
    const sent = send(message);
    input.end();
    const response = await sent;
    await clock.asleep(1);
    return response;
  }
  return { clock, errors, done, input, write, send, sendAll, output: reading.then(() => text(output)) };
}

const accepted = (response: ServerResponse): unknown => response.writeHead(202).end();

test('a request that is open when the input ends gets its answer', async (t) => {
  const { sendAll, done, output, errors } = await forwarder(t);
  const response = await sendAll({ id: 1, method: 'ping' });
  response.setHeader('content-type', 'application/json');
  response.end('{"jsonrpc":"2.0","id":1,"result":{}}');
  assert.equal(await done, true);
  assert.equal(await output, '{"jsonrpc":"2.0","id":1,"result":{}}\n');
  assert.deepEqual(errors, []);
});

test('a notification is delivered before the end', async (t) => {
  const { sendAll, done, errors } = await forwarder(t);
  accepted(await sendAll({ method: 'notifications/roots/list_changed' }));
  assert.equal(await done, true);
  assert.deepEqual(errors, []);
});

test('a request without an answer is left some seconds after the end of the input, and reported', async (t) => {
  const { sendAll, done, output, errors, clock } = await forwarder(t);
  await sendAll({ id: 'a', method: 'ping' });
  clock.advance(5_000);
  assert.equal(await done, false);
  assert.equal(await output, '');
  assert.deepEqual(errors, ['no answer within 5 s of the end of the input (open: 1); tasks go on']);
});

test('a request whose connection is lost is answered with an error', async (t) => {
  const { sendAll, done, output, errors } = await forwarder(t);
  const response = await sendAll({ id: 1, method: 'tools/call', params: { name: 'x' } });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(': open\n\n', () => response.destroy());
  assert.equal(await done, true);
  const { id, error } = JSON.parse(await output);
  assert.deepEqual([id, error.data], [1, { reason: 'PEER_UNREACHABLE' }]);
  assert.match(error.message, /gave no answer; fleet_tasks says what became of tasks/);
  assert.equal(errors.length, 1);
});

test('a request that the server refuses is answered in its words', async (t) => {
  const { sendAll, done, output } = await forwarder(t);
  const response = await sendAll({ id: 1, method: 'tools/call', params: { name: 'x' } });
  const error = { code: -32000, message: 'too many', data: { reason: 'TOO_MANY_STREAMS' } };
  response.writeHead(429, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
  assert.equal(await done, true);
  assert.deepEqual(JSON.parse(await output), { jsonrpc: '2.0', id: 1, error });
});

test('a canceled request of 2026-07-28 is canceled by closing its stream', async (t) => {
  const { write, send, input, done, errors, output } = await forwarder(t);
  const [call] = statelessRequest(1, 'tools/call', { name: 'x' });
  const cancel = { method: 'notifications/cancelled', params: { requestId: 1 } };
  const response = await send(call);
  write(cancel);
  if (!response.closed) await once(response, 'close');
  input.end();
  assert.equal(await done, true);
  assert.equal(await output, '');
  assert.deepEqual(errors, []);
});

test('a line that is no message is answered with an error, and the next one is forwarded', async (t) => {
  const { input, send, done, errors, output } = await forwarder(t);
  input.write('hello\n{"id":1}\n');
  const response = await send({ id: 2, method: 'tools/list' });
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: 2, result: { tools: [] } }));
  input.end();
  assert.equal(await done, true);
  const lines = (await output)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.map(({ id, error }) => [id, error?.code]),
    [
      [null, -32700],
      [null, -32600],
      [2, undefined],
    ],
  );
  assert.equal(errors.length, 2);
});

test('a client that does not read its answers can send no more until it does', async (t) => {
  const reading = Promise.withResolvers<void>();
  const { input, send, done, output } = await forwarder(t, reading.promise);
  const response = await send({ id: 1, method: 'tools/call', params: { name: 'x' } });
  const result = { content: [{ type: 'text', text: 'x'.repeat(100_000) }] };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
  while (!input.isPaused()) await new Promise((resolve) => setImmediate(resolve));
  reading.resolve();
  while (input.isPaused()) await new Promise((resolve) => setImmediate(resolve));
  input.end();
  assert.equal(await done, true);
  assert.deepEqual(JSON.parse(await output).result, result);
});

test('a page of HTML instead of an answer is told in one short line', async (t) => {
  const { sendAll, done, output, errors } = await forwarder(t);
  const response = await sendAll({ id: 1, method: 'tools/call', params: { name: 'x' } });
  response.writeHead(502, { 'content-type': 'text/html' }).end(`<html>${'x'.repeat(100_000)}</html>`);
  assert.equal(await done, true);
  const { error } = JSON.parse(await output);
  assert.match(error.message, / answered HTTP 502: /);
  assert.ok(error.message.length < 400 && errors.every((line) => line.length <= 200));
});

test('a message that is too long ends the forwarder with an error, and an open request is still answered', async (t) => {
  const { input, write, send, done, errors, output } = await forwarder(t);
  const response = await send({ id: 1, method: 'tools/call', params: { name: 'x' } });
  write({ id: 2, method: 'x'.repeat(11_000_000) });
  while (errors.length === 0) await new Promise((resolve) => setImmediate(resolve));
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [] } }));
  assert.equal(await done, false);
  assert.equal(JSON.parse(await output).id, 1);
  assert.match(errors.join(), /a line of more than 10485760 bytes/);
  assert.equal(input.isPaused(), true, 'an input that stays open keeps no process alive');
});
