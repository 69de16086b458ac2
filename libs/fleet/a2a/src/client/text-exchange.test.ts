import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { fleetErrorOf, silentLog } from '@hermes-fleet/protocol/testing';
import { peerServer } from '../../testing/peer-server.ts';
import { createA2AClient } from '../index.ts';

const soon = { timeoutMs: 20_000 };
const TASK = { id: 'x', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } };
const answerWith = (response: ServerResponse, text: string): void => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { ...TASK, metadata: { text } } }));
};

/** A peer that answers when `answer` is called with the nth of its requests, and the connections that it sees. */
async function setUp(t: TestContext, answer: (nth: number, response: ServerResponse) => void) {
  const sockets = new Set<Socket>();
  let requests = 0;
  const peer = await peerServer(t, (request, response) => {
    sockets.add(request.socket);
    requests += 1;
    answer(requests, response);
  });
  const client = createA2AClient({ clock: systemClock, log: silentLog, extensions: [] });
  return { peer, sockets, client };
}

test('calls one after another share a connection, and calls at the same time have one each', async (t) => {
  const held: ServerResponse[] = [];
  const { peer, sockets, client } = await setUp(t, (nth, response) => {
    if (nth <= 5) answerWith(response, '');
    else if (held.push(response) === 3) for (const each of held) answerWith(each, '');
  });
  for (let nth = 0; nth < 5; nth += 1) await client.getTask(peer, 'x', soon);
  assert.equal(sockets.size, 1);
  await Promise.all([1, 2, 3].map(() => client.getTask(peer, 'x', soon)));
  assert.equal(sockets.size, 3);
});

test('a call whose kept connection was closed is sent again at once over a new one', async (t) => {
  const { peer, sockets, client } = await setUp(t, (nth, response) => {
    if (nth === 2) response.socket?.destroy();
    else answerWith(response, String(nth));
  });
  await client.getTask(peer, 'x', soon);
  assert.equal((await client.getTask(peer, 'x', soon)).metadata.text, '3');
  assert.equal(sockets.size, 2);
});

test('a message that must not arrive twice has a connection of its own, and is sent once', async (t) => {
  let requests = 0;
  const { peer, sockets, client } = await setUp(t, (nth, response) => {
    requests = nth;
    if (nth === 2) response.socket?.destroy();
    else answerWith(response, '');
  });
  await client.getTask(peer, 'x', soon);
  const message = { messageId: 'm', text: 'x', blocking: false };
  const error = await fleetErrorOf(client.send(peer, message, { ...soon, isOnce: true }));
  assert.equal(error.code, 'PEER_UNREACHABLE');
  assert.deepEqual([requests, sockets.size], [2, 2]);
});

test('a call goes through the proxy that Node uses for fetch', async (t) => {
  const asked: string[] = [];
  const proxy = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers['accept-encoding']}`);
    request.resume();
    answerWith(response, '');
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.after(() => proxy.close());
  const address = proxy.address();
  assert.ok(address !== null && typeof address === 'object');
  const calling = `
    const { createA2AClient } = await import(${JSON.stringify(import.meta.resolve('../index.ts'))});
    const { systemClock } = await import(${JSON.stringify(import.meta.resolve('@hermes-fleet/protocol/ports'))});
    const client = createA2AClient({ clock: systemClock, extensions: [] });
    const peer = { name: 'far', url: 'http://192.0.2.1/a2a' };
    for (const isOnce of [false, true]) await client.getTask(peer, 'x', { timeoutMs: 20_000, isOnce });`;
  const PROXY = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: `http://127.0.0.1:${address.port}` };
  const child = spawn(process.execPath, ['--input-type=module', '-e', calling], {
    env: { ...process.env, ...PROXY, NO_PROXY: '', no_proxy: '' },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  const call = 'POST http://192.0.2.1/a2a identity';
  assert.deepEqual([code, asked], [0, [call, call]]);
});

test('an answer in many pieces is one text, also where a piece ends inside a character', async (t) => {
  const text = '日本語😀'.repeat(50);
  const { peer, client } = await setUp(t, (_nth, response) => {
    const bytes = Buffer.from(
      JSON.stringify({ jsonrpc: '2.0', id: 1, result: { ...TASK, metadata: { text } } }),
    );
    const send = (at: number): void => {
      if (at >= bytes.length) response.end();
      else response.write(bytes.subarray(at, at + 37), () => send(at + 37));
    };
    send(0);
  });
  assert.equal((await client.getTask(peer, 'x', soon)).metadata.text, text);
});

test('a call after a connection was closed opens another, and one that was cut off is PEER_UNREACHABLE', async (t) => {
  const { peer, sockets, client } = await setUp(t, (nth, response) => {
    if (nth === 2) response.writeHead(200, { 'content-length': 100 }).write('{"jsonrpc"');
    if (nth === 2) response.socket?.end();
    else answerWith(response, '');
  });
  await client.getTask(peer, 'x', soon);
  const error = await fleetErrorOf(client.getTask(peer, 'x', soon));
  assert.equal(error.code, 'PEER_UNREACHABLE');
  assert.match(error.message, /: ECONNRESET$/);
  await client.getTask(peer, 'x', soon);
  assert.equal(sockets.size, 2);
});

test('an answer of more than 4 MiB is refused before it is read to its end', async (t) => {
  let written = 0;
  const { peer, client } = await setUp(t, (_nth, response) => {
    const more = (): void => {
      written += 1;
      if (written < 200) response.write(' '.repeat(1_000_000), more);
      else answerWith(response, '');
    };
    response.writeHead(200, { 'content-type': 'application/json' });
    more();
  });
  const error = await fleetErrorOf(client.getTask(peer, 'x', soon));
  assert.match(error.message, /more than 4 MiB/);
  assert.ok(written < 200, `${written} MB were taken`);
});
