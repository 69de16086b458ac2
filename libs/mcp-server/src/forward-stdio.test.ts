import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { json, text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { isJsonObject } from '@hermes-fleet/protocol';
import { manualClock } from '@hermes-fleet/protocol/testing';
import { forwardStdio } from './forward-stdio.ts';

/** A forwarder to a server whose every request is answered by the test. */
async function forwarder(t: TestContext) {
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
    onError: (message) => errors.push(message),
  }).finally(() => output.end());
  /** Sends the messages as the whole input, and returns the response to the one that comes first. */
  async function sendAll(...messages: object[]): Promise<ServerResponse> {
    const came = once(server, 'request');
    input.end(messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''));
    const [request, response] = await came;
    assert.ok(isJsonObject(await json(request)));
    await clock.asleep(1);
    return response;
  }
  return { clock, errors, done, sendAll, output: text(output) };
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
