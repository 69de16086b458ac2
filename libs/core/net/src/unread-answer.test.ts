import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { codeOf, thrownBy } from '../testing/fetching.ts';
import { startServer } from '../testing/server.ts';
import { createClient } from './client.ts';

const at = (port: number, path = '/'): string => `http://127.0.0.1:${port}${path}`;

/** Resolves when nothing is connected to the server. */
async function closed(sockets: ReadonlySet<Socket>): Promise<void> {
  assert.ok(sockets.size > 0);
  for (const socket of sockets)
    if (!socket.closed) await new Promise<void>((resolve) => socket.once('close', () => resolve()));
}

test('closes an answer that nobody reads, whole or not, and waits as long as its reader takes some of it', async (t) => {
  const sockets = new Set<Socket>();
  const { port } = await startServer(t, ({ socket, url }, response) => {
    sockets.add(socket);
    if (url === '/whole') response.end('whole');
    else response.write('x'.repeat(5_000_000));
  });
  const send = createClient('configured', { silenceMs: 400 });
  const slow = (await send(at(port))).body?.getReader();
  for (let pieces = 0; pieces < 3; pieces += 1) {
    assert.ok((await slow?.read())?.value);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const unread = await Promise.all(['/whole', '/half', '/whole'].map((path) => send(at(port, path))));
  await closed(sockets);
  for (const answer of unread) assert.match((await thrownBy(answer.text())).message, /ended early/);
});

test('ends when no byte arrives after its reader has paused', async (t) => {
  const { port } = await startServer(t, (_, response) => void response.write('half'));
  const answer = await createClient('configured', { silenceMs: 200 })(at(port));
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(codeOf(await thrownBy(answer.text())), 'ETIMEDOUT');
});
