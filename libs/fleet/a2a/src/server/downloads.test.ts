import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { manualClock } from '@hermes-fleet/protocol/testing';
import fastify from 'fastify';
import { createDownloads, type DownloadsOptions } from './downloads.ts';

/** A server whose downloads begin and do not end; its callers are named by the path. */
async function serve(t: TestContext, o: Pick<DownloadsOptions, 'limitOf'> = {}) {
  const clock = manualClock();
  const begin = createDownloads({ clock, maxMs: 600_000, ...o });
  const app = fastify({ forceCloseConnections: true });
  app.get<{ Params: { caller: string } }>('/:caller', async (request, reply) => {
    request.caller = { name: request.params.caller, scopes: new Set() };
    try {
      if ((await begin(request, reply)) === undefined) return reply;
    } catch (error) {
      assert.ok(error instanceof FleetError);
      return reply.code(error.httpStatus).send(error.message);
    }
    reply.hijack();
    reply.raw.writeHead(200).write('half');
    return reply;
  });
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  t.after(() => app.close());
  const open = (caller: string) => {
    const socket = connect(Number(port), '127.0.0.1');
    t.after(() => socket.destroy());
    socket.write(`GET /${caller} HTTP/1.1\r\nhost: x\r\n\r\n`);
    const head = once(socket, 'data').then(([data]) => String(data));
    return { socket, head };
  };
  return { clock, open };
}

const isSent = async ({ head }: { head: Promise<string> }): Promise<void> =>
  assert.match(await head, /^HTTP\/1\.1 200 /);

test('a caller is sent four at a time, the next one waits for a turn, and is refused after 30 s', async (t) => {
  const { clock, open } = await serve(t);
  const [first, ...others] = ['a', 'a', 'a', 'a'].map(open);
  for (const each of [first, ...others]) await isSent(each ?? assert.fail());
  const next = open('a');
  await clock.armed(30_000);
  await isSent(open('b'));
  first?.socket.destroy();
  await isSent(next);
  assert.equal(clock.timers, 5, 'a turn that came is no more waited for');
  const late = open('a');
  await clock.armed(30_000);
  clock.advance(30_000);
  assert.match(await late.head, /^HTTP\/1\.1 429 .*caller "a" has not read .*: ask again/s);
});

test('a caller has the limit that is given for it', async (t) => {
  const { clock, open } = await serve(t, { limitOf: (caller) => (caller === 'peer' ? 5 : 1) });
  for (const caller of ['peer', 'peer', 'peer', 'peer', 'peer', 'a']) await isSent(open(caller));
  const late = open('a');
  await clock.armed(30_000);
  clock.advance(30_000);
  assert.match(await late.head, /^HTTP\/1\.1 429 /);
});
