import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { fleetErrorOf, silentLog } from '@hermes-fleet/protocol/testing';
import { collect, peerServer } from '../../testing/peer-server.ts';
import { createA2AClient, type PeerTask } from '../index.ts';

const client = createA2AClient({ clock: systemClock, log: silentLog, extensions: [] });
const soon = { timeoutMs: 10_000 };

interface Odd {
  readonly what: string;
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body: string;
  readonly code: string;
  readonly retryable: boolean;
}

const SECRET = 'upstream-secret-text';
const ODD: readonly Odd[] = [
  { what: 'HTML', body: `<html>${SECRET}</html>`, code: 'PEER_REFUSED', retryable: false },
  { what: 'other JSON', body: JSON.stringify({ hello: SECRET }), code: 'PEER_REFUSED', retryable: false },
  {
    what: 'a result of another shape',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, result: { id: 5, text: SECRET } }),
    code: 'PEER_REFUSED',
    retryable: false,
  },
  {
    what: 'JSON that is nested too deep',
    body: `{"jsonrpc":"2.0","id":1,"result":{"id":"x","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"metadata":{"a":${'['.repeat(5_000)}"${SECRET}"${']'.repeat(5_000)}}}}`,
    code: 'PEER_REFUSED',
    retryable: false,
  },
  {
    what: 'an error of another shape',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, error: SECRET }),
    code: 'PEER_REFUSED',
    retryable: false,
  },
  {
    what: 'an error with a loud message',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32603, message: SECRET, data: SECRET } }),
    code: 'PEER_REFUSED',
    retryable: false,
  },
  { what: 'more than 4 MiB', body: 'x'.repeat(4_300_000), code: 'PEER_REFUSED', retryable: false },
  {
    what: 'a redirect',
    status: 302,
    headers: { location: 'http://127.0.0.1:1/' },
    body: SECRET,
    code: 'PEER_REFUSED',
    retryable: false,
  },
  { what: '404', status: 404, body: SECRET, code: 'PEER_REFUSED', retryable: false },
  {
    what: '429',
    status: 429,
    headers: { 'retry-after': '7' },
    body: SECRET,
    code: 'PEER_REFUSED',
    retryable: true,
  },
  { what: '503', status: 503, body: SECRET, code: 'PEER_REFUSED', retryable: true },
  { what: '502', status: 502, body: SECRET, code: 'PEER_UNREACHABLE', retryable: true },
];

test("an answer that is not A2A becomes a catalog error without the peer's text", async (t) => {
  for (const { what, status = 200, headers = {}, body, code, retryable } of ODD) {
    const peer = await peerServer(t, (_request, response) => response.writeHead(status, headers).end(body));
    for (const timeoutMs of [10_000, 600_000]) {
      const error = await fleetErrorOf(client.getTask(peer, 'x', { timeoutMs }));
      assert.deepEqual([error.code, error.retryable], [code, retryable], what);
      assert.ok(!JSON.stringify([error.message, error.fields]).includes(SECRET), what);
      if (what === '429') assert.equal(error.retryAfterS, 7);
    }
    const watched = client.watch(peer, 'x', { signal: new AbortController().signal, idleTimeoutMs: 10_000 });
    assert.equal((await fleetErrorOf(collect(watched))).code, code, `watch: ${what}`);
  }
});

test('a peer that never answers, or hangs up, is PEER_UNREACHABLE within the deadline', async (t) => {
  const mute = await peerServer(t, () => undefined);
  const late = await fleetErrorOf(client.getTask(mute, 'x', { timeoutMs: 50 }));
  assert.deepEqual([late.code, late.retryable], ['PEER_UNREACHABLE', true]);
  assert.match(late.message, /within 50 ms/);
  const rude = await peerServer(t, (request) => request.socket.destroy());
  assert.equal((await fleetErrorOf(client.getTask(rude, 'x', soon))).code, 'PEER_UNREACHABLE');
  const half = await peerServer(t, (_request, response) => response.writeHead(200).write('{"jsonrpc"'));
  assert.equal((await fleetErrorOf(client.getTask(half, 'x', { timeoutMs: 50 }))).code, 'PEER_UNREACHABLE');
});

test('an answer that is not valid HTTP is PEER_UNREACHABLE for short and long timeouts', async (t) => {
  for (const head of ['HTTP/1.1 999 Odd', 'HTTP/1.1 101 Switching\r\nupgrade: odd\r\nconnection: upgrade']) {
    const server = createServer((socket) =>
      socket.on('error', () => undefined).once('data', () => socket.end(`${head}\r\n\r\n{}`)),
    );
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    t.after(() => server.close());
    const address = server.address();
    assert.ok(address !== null && typeof address !== 'string');
    const peer = { name: 'odd', url: `http://127.0.0.1:${address.port}/jsonrpc` };
    for (const timeoutMs of [10_000, 600_000]) {
      const error = await fleetErrorOf(client.getTask(peer, 'x', { timeoutMs }));
      assert.deepEqual([error.code, error.retryable], ['PEER_UNREACHABLE', true], head);
    }
  }
});

test('a stream that grows its task without limit is cut off and can be opened again', async (t) => {
  let told = 0;
  const peer = await peerServer(t, (_request, response) => {
    const tell = (result: object): boolean =>
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    tell({ task: { id: 'x', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } });
    const artifact = { artifactId: 'text', parts: [{ text: 'x'.repeat(1_000_000) }] };
    const more = (): void => {
      told += 1;
      if (told < 200) tell({ artifactUpdate: { taskId: 'x', contextId: 'c', artifact, append: true } });
    };
    response.on('drain', more);
    more();
  });
  const watched = client.watch(peer, 'x', { signal: AbortSignal.timeout(60_000), idleTimeoutMs: 10_000 });
  const error = await fleetErrorOf(collect(watched));
  assert.deepEqual([error.code, error.retryable], ['PEER_UNREACHABLE', true]);
  assert.ok(told > 4 && told < 200, `${told} events were taken`);
});

test('a stream that keeps adding parts is cut off before copying them becomes expensive', async (t) => {
  const parts = 60_000;
  const event = (result: object): string => `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`;
  const peer = await peerServer(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(event({ task: { id: 'x', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } }));
    const artifact = { artifactId: 'data', parts: [{ data: {} }] };
    const more = event({ artifactUpdate: { taskId: 'x', contextId: 'c', artifact, append: true } });
    response.end(more.repeat(parts));
  });
  let seen = 0;
  let last: PeerTask | undefined;
  const watching = async (): Promise<void> => {
    const signal = AbortSignal.timeout(300_000);
    for await (const task of client.watch(peer, 'x', { signal, idleTimeoutMs: 10_000 })) {
      seen += 1;
      last = task;
    }
  };
  const error = await fleetErrorOf(watching());
  assert.match(String(error.cause), /holds more than a task may/);
  assert.ok(seen > 10_000 && seen < parts / 2, `${seen} events were taken`);
  assert.equal(last?.data.length, seen - 1);
});
