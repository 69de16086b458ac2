import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { deadline, manualClock } from '@hermes-fleet/protocol/testing';
import { fastify } from 'fastify';
import { startTestConsole } from '../../testing/console.ts';
import { eventMaker, publish } from '../../testing/events.ts';
import type { Notice } from './changes.ts';
import { registerStream } from './stream.ts';

interface Received {
  readonly event: string;
  readonly data: Record<string, unknown>;
}

/** The events of an open stream, until it ends. */
async function* received(response: Response): AsyncGenerator<Received, void, undefined> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const data = field('data');
      if (data !== undefined) yield { event: field('event') ?? '', data: JSON.parse(data) };
    }
  }
}

test(
  'a stream begins with the status, tells what changed, and ends with its session',
  deadline,
  async (t) => {
    const fleet = await startTestConsole(t);
    const browser = await fleet.signIn();
    const response = await browser.get('/api/stream');
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
    const events = received(response);
    assert.equal((await events.next()).value?.event, 'status');
    await publish(fleet.nats.url, [eventMaker('neo')('blocked', { id: 'a' }, { reason: 'mcp' })]);
    for (;;) {
      const { value } = await events.next();
      assert.ok(value, 'the stream goes on');
      if (value.event !== 'changed') continue;
      assert.deepEqual(value.data.tasks, ['neo/a']);
      assert.ok((value.data.views as string[]).includes('blocked'));
      break;
    }
    const { csrf_token } = await browser.json<{ csrf_token: string }>('/api/session');
    const headers = { cookie: browser.cookie, origin: fleet.url, 'x-csrf-token': csrf_token };
    const signedOut = await fetch(`${fleet.url}/api/session`, { method: 'DELETE', headers });
    assert.equal(signedOut.status, 204);
    while (!(await events.next()).done);
    assert.equal((await browser.get('/api/stream')).status, 401);
  },
);

test('a session has ten streams at most, and the console stops with streams open', deadline, async (t) => {
  const fleet = await startTestConsole(t);
  const browser = await fleet.signIn();
  const open = await Promise.all(Array.from({ length: 10 }, () => browser.get('/api/stream')));
  assert.deepEqual(new Set(open.map(({ status }) => status)), new Set([200]));
  assert.equal((await browser.get('/api/stream')).status, 429);
  const streams = open.map(received);
  await fleet.stop();
  for (const events of streams) while (!(await events.next()).done);
});

test('a client that reads nothing is disconnected, and those that read go on', deadline, async (t) => {
  const clock = manualClock();
  const listeners = new Set<(notice: Notice) => void>();
  const session = { digest: 'one', csrfToken: '', held: undefined };
  const app = fastify();
  t.after(() => app.close());
  app.decorateRequest('session', undefined);
  app.addHook('onRequest', async (request) => {
    request.session = session;
  });
  const status = { event: 'status', data: { reason: 'x'.repeat(500_000) } } as unknown as Notice;
  await app.register((scope) =>
    registerStream(scope, {
      changes: {
        ...{ applied: () => undefined, statusChanged: () => undefined, everything: () => undefined },
        subscribe: (listener) => {
          listeners.add(listener);
          return { [Symbol.dispose]: () => void listeners.delete(listener) };
        },
        close: () => undefined,
      },
      status: () => status.data as never,
      sessions: { onEnd: () => ({ [Symbol.dispose]: () => undefined }) } as never,
      clock,
    }),
  );
  const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const idle = connect(Number(url.port), '127.0.0.1').pause();
  idle.write('GET /api/stream HTTP/1.1\r\nHost: x\r\n\r\n');
  const events = received(await fetch(new URL('/api/stream', url)));
  await events.next();
  while (listeners.size < 2) await new Promise((resolve) => setImmediate(resolve));
  // Fills the buffers of the one that does not read; its send is then under way, and the newest notice waits.
  for (let sent = 0; sent < 40; sent += 1) {
    for (const listener of listeners) listener(status);
    await events.next();
  }
  assert.equal(listeners.size, 2);
  clock.advance(30_000);
  while (listeners.size > 1) await new Promise((resolve) => setImmediate(resolve));
  for (const listener of listeners) listener(status);
  assert.equal((await events.next()).value?.event, 'status');
  idle.destroy();
});
