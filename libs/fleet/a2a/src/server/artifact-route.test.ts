import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { ArtifactPart } from '@hermes-fleet/protocol/ports';
import { manualClock } from '@hermes-fleet/protocol/testing';
import { finish } from '../../testing/script.ts';
import { at, message, type Served, type ServeOptions, serve, TOKEN } from '../../testing/serve.ts';

/** More than the buffers of a connection take. */
const HUGE = 24 * 2 ** 20;
const LIMITS = { artifactBytes: 2 * HUGE, taskBytes: 2 * HUGE };
const AUTHORIZATION = `Bearer ${TOKEN}`;

async function taskWith(
  t: TestContext,
  parts: readonly ArtifactPart[],
  options: Pick<ServeOptions, 'clock'> = {},
): Promise<[Served, string[]]> {
  const served: Served = await serve(t, {
    ...options,
    script: async (id) => {
      const { ledger } = served;
      await ledger.append(id, { type: 'started', data: {} });
      await ledger.addArtifact(id, { id: 'a', place: 0, parts, isLast: true }, LIMITS);
      await finish(ledger, id, 'done', { text: 'made' });
    },
  });
  const { body } = await served.rpc('SendMessage', message('go'));
  const shown = parts.map((_, part) => at(body, 'result', 'task', 'artifacts', 0, 'parts', part, 'url'));
  return [served, shown.map(String)];
}

/** A client that has got the head of an answer, and reads no further. */
async function stalled(t: TestContext, address: string): Promise<Socket> {
  const { hostname, port, pathname } = new URL(address);
  const socket = connect(Number(port), hostname);
  t.after(() => socket.destroy());
  socket.write(`GET ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: ${AUTHORIZATION}\r\n\r\n`);
  await once(socket, 'readable');
  return socket;
}

test('a caller that reads slowly is sent four contents at a time; its next ones wait, and nothing else', async (t) => {
  const long = 'z'.repeat(300_000);
  const [served, [huge = '', small = '']] = await taskWith(t, [
    { kind: 'file', base64: Buffer.alloc(HUGE).toString('base64') },
    { kind: 'text', text: long },
  ]);
  const slow: Socket[] = [];
  for (let n = 0; n < 4; n += 1) slow.push(await stalled(t, huge));
  let isAnswered = false;
  const fetching = fetch(small, { headers: { authorization: AUTHORIZATION } }).then((response) => {
    isAnswered = true;
    return response.text();
  });
  const leaving = connect(Number(new URL(small).port), '127.0.0.1');
  leaving.write(
    `GET ${new URL(small).pathname} HTTP/1.1\r\nhost: x\r\nauthorization: ${AUTHORIZATION}\r\n\r\n`,
  );
  const unknown = await fetch(`${served.url}/artifacts/x/1/0`, { headers: { authorization: AUTHORIZATION } });
  assert.equal(unknown.status, 404);
  assert.equal((await served.rpc('ListTasks', {})).status, 200);
  assert.equal(isAnswered, false);
  leaving.destroy();
  slow[0]?.destroy();
  assert.equal(await fetching, long);
  for (let n = 0; n < 3; n += 1)
    assert.equal(await (await fetch(small, { headers: { authorization: AUTHORIZATION } })).text(), long);
});

test('a client that has not read a content after two minutes is disconnected, and its turn is free', async (t) => {
  const clock = manualClock();
  const [, [huge = '', small = '']] = await taskWith(
    t,
    [
      { kind: 'file', base64: Buffer.alloc(HUGE).toString('base64') },
      { kind: 'text', text: 'z'.repeat(300_000) },
    ],
    { clock },
  );
  const slow: Socket[] = [];
  for (let n = 0; n < 4; n += 1) slow.push(await stalled(t, huge));
  const next = fetch(small, { headers: { authorization: AUTHORIZATION } });
  const closed = slow.map((socket) =>
    once(
      socket.on('error', () => undefined),
      'close',
    ),
  );
  clock.advance(119_999);
  assert.deepEqual(
    slow.map((socket) => socket.destroyed),
    [false, false, false, false],
  );
  clock.advance(1);
  assert.equal((await (await next).text()).length, 300_000);
  for (const socket of slow) socket.resume();
  await Promise.all(closed);
});
