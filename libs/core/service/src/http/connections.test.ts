import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { startApp, TOKEN } from '../../testing/start-app.ts';

const IDLE_MS = 300;
const me = { routes: (app: Parameters<NonNullable<Routes>>[0]) => void app.get('/me', async () => 'me') };
type Routes = NonNullable<Parameters<typeof startApp>[1]>['routes'];

interface Client {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  /** Sends bytes; resolves with what comes back, up to and including `end`. */
  ask(bytes: string, end: string): Promise<string>;
}

/** A connection that the server has accepted after all earlier ones of the test. */
async function open(t: TestContext, port: number): Promise<Client> {
  const socket = connect(port, '127.0.0.1');
  socket.setEncoding('utf8');
  socket.on('error', () => undefined);
  t.after(() => socket.destroy());
  const closed = once(socket, 'close');
  await once(socket, 'connect');
  const ask = async (bytes: string, end: string): Promise<string> => {
    let text = '';
    const answered = new Promise<void>((resolve, reject) => {
      const take = (chunk: string): void => {
        text += chunk;
        if (!text.endsWith(end)) return;
        socket.off('data', take);
        resolve();
      };
      socket.on('data', take);
      socket.once('close', () => reject(new Error(`closed after ${JSON.stringify(text)}`)));
    });
    socket.write(bytes);
    await answered;
    return text;
  };
  return { socket, closed, ask };
}

const get = (path: string, headers = `authorization: Bearer ${TOKEN}\r\n`): string =>
  `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`;

test('a caller may open many connections at once, before it sends its first request', async (t) => {
  const { port } = await startApp(t, { ...me, connections: { maxUnauthenticated: 8 } });
  const sockets = Array.from({ length: 200 }, () => connect(port, '127.0.0.1'));
  t.after(() => sockets.forEach((socket) => void socket.destroy()));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const answers = sockets.map(async (socket) => {
    socket.write(get('/me'));
    return String((await once(socket, 'data'))[0]).slice(0, 12);
  });
  assert.deepEqual([...new Set(await Promise.all(answers))], ['HTTP/1.1 200']);
});

test('the oldest connection without a token gives way to a new one', async (t) => {
  const { port, logs } = await startApp(t, { ...me, connections: { maxUnauthenticated: 3 } });
  const first = await open(t, port);
  const caller = await open(t, port);
  assert.match(await caller.ask(get('/me'), 'me'), /^HTTP\/1\.1 200/);
  const second = await open(t, port);
  const third = await open(t, port);
  const fourth = await open(t, port);
  await first.closed;
  for (const { ask } of [second, third, fourth, caller]) await ask(get('/me'), 'me');
  const { count, level } = await logs.find(({ msg }) => String(msg).startsWith('connections gave way'));
  assert.deepEqual([count, level], [1, 'warn']);
});

test('connections without a token never have more than half of all, whatever limit is set for them', {
  timeout: 10_000,
}, async (t) => {
  const connections = { maxConnections: 8, maxUnauthenticated: 100, unauthenticatedIdleMs: 60_000 };
  const { port } = await startApp(t, { ...me, connections });
  const callers = [await open(t, port), await open(t, port), await open(t, port)];
  for (const { ask } of callers) await ask(get('/me'), 'me');
  const silent = [];
  for (let count = 0; count < 8; count += 1) silent.push(await open(t, port));
  await Promise.all(silent.slice(0, 4).map(({ closed }) => closed));
  for (const { ask } of callers) assert.match(await ask(get('/me'), 'me'), /^HTTP\/1\.1 200/);
});

test('a connection without a token is closed when it is silent, also between requests', async (t) => {
  const { port } = await startApp(t, { connections: { unauthenticatedIdleMs: IDLE_MS } });
  const started = performance.now();
  const silent = await open(t, port);
  const halfHead = await open(t, port);
  halfHead.socket.write('POST /echo HTTP/1.1\r\n');
  const probe = await open(t, port);
  assert.match(await probe.ask(get('/health', ''), '}'), /keep-alive: timeout=0\r\n/i);
  const wrong = await open(t, port);
  assert.match(await wrong.ask(get('/me', 'authorization: Bearer wrong\r\n'), '}'), /^HTTP\/1\.1 40/);
  await Promise.all([silent, halfHead, probe, wrong].map(({ closed }) => closed));
  const took = performance.now() - started;
  assert.ok(took >= IDLE_MS && took < 10 * IDLE_MS, `closed after ${took} ms`);
});

test('a slow sender is not silent', async (t) => {
  const { port } = await startApp(t, { ...me, connections: { unauthenticatedIdleMs: IDLE_MS } });
  const slow = await open(t, port);
  const silent = await open(t, port);
  const bytes = [...get('/me')];
  const sending = setInterval(() => slow.socket.write(bytes.shift() ?? ''), IDLE_MS / 6);
  await silent.closed;
  await (await open(t, port)).closed;
  clearInterval(sending);
  assert.match(await slow.ask(bytes.join(''), 'me'), /^HTTP\/1\.1 200/);
});

test('a caller with a token may be silent: between requests, and while it waits', async (t) => {
  const gate = Promise.withResolvers<void>();
  t.after(() => gate.resolve());
  const { port } = await startApp(t, {
    routes: (app) => {
      me.routes(app);
      app.get('/wait', () => gate.promise.then(() => 'waited'));
      app.post('/upload', async ({ body }) => body);
      app.get('/public-wait', { config: { public: true } }, () => gate.promise.then(() => 'waited'));
      app.get('/stream', (_request, reply) => {
        reply.hijack();
        reply.raw.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: first\n\n');
        void gate.promise.then(() => reply.raw.end('data: last\n\n'));
      });
    },
    connections: { unauthenticatedIdleMs: IDLE_MS, maxUnauthenticated: 4 },
  });
  const kept = await open(t, port);
  assert.match(await kept.ask(get('/me'), 'me'), /keep-alive: timeout=72\r\n/i);
  const waiting = await open(t, port);
  const waited = waiting.ask(get('/wait'), 'waited');
  const probe = await open(t, port);
  const probed = probe.ask(get('/public-wait', ''), 'waited');
  const stream = await open(t, port);
  await stream.ask(get('/stream'), 'data: first\n\n\r\n');
  const streamed = stream.ask('', 'data: last\n\n\r\n0\r\n\r\n');
  const upload = await open(t, port);
  const head = `POST /upload HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${TOKEN}\r\n`;
  upload.socket.write(`${head}content-type: application/json\r\ncontent-length: 4\r\n\r\n[1`);
  // A later connection was closed for its silence: the others were silent for longer.
  await (await open(t, port)).closed;
  gate.resolve();
  for (const text of [await waited, await probed]) assert.match(text, /^HTTP\/1\.1 200/);
  await streamed;
  assert.match(await upload.ask('2]', '[12]'), /^HTTP\/1\.1 200/);
  assert.match(await kept.ask(get('/me'), 'me'), /^HTTP\/1\.1 200/);
});

test('a valid token counts on a public route too, as in a scrape with a token, and a wrong one does not', async (t) => {
  const { port } = await startApp(t, { connections: { unauthenticatedIdleMs: IDLE_MS } });
  const caller = await open(t, port);
  assert.match(await caller.ask(get('/health'), '}'), /keep-alive: timeout=72\r\n/i);
  const stranger = await open(t, port);
  const wrong = get('/health', 'authorization: Bearer another-token-of-nobody\r\n');
  assert.match(await stranger.ask(wrong, '}'), /^HTTP\/1\.1 200/);
  await stranger.closed;
  await (await open(t, port)).closed;
  assert.match(await caller.ask(get('/health'), '}'), /^HTTP\/1\.1 200/);
});

test('without tokens, a valid request makes a connection a caller, and a foreign one does not', async (t) => {
  const { port } = await startApp(t, {
    ...me,
    authenticate: undefined,
    connections: { unauthenticatedIdleMs: IDLE_MS },
  });
  const caller = await open(t, port);
  await caller.ask(get('/me', ''), 'me');
  const foreign = await open(t, port);
  const head = 'GET /health HTTP/1.1\r\nhost: evil.example\r\n\r\n';
  assert.match(await foreign.ask(head, '}'), /^HTTP\/1\.1 200/);
  const silent = await open(t, port);
  await Promise.all([foreign.closed, silent.closed]);
  assert.match(await caller.ask(get('/me', ''), 'me'), /^HTTP\/1\.1 200/);
});

test('in a full listener the caller that was idle the longest gives way, and one that waits does not', async (t) => {
  const gate = Promise.withResolvers<void>();
  t.after(() => gate.resolve());
  const entered = Promise.withResolvers<void>();
  const { port } = await startApp(t, {
    routes: (app) => {
      me.routes(app);
      app.get('/wait', async () => {
        entered.resolve();
        await gate.promise;
        return 'waited';
      });
    },
    connections: { maxConnections: 4 },
  });
  const waiting = await open(t, port);
  const waited = waiting.ask(get('/wait'), 'waited');
  await entered.promise;
  const first = await open(t, port);
  await first.ask(get('/me'), 'me');
  const second = await open(t, port);
  await second.ask(get('/me'), 'me');
  await first.ask(get('/me'), 'me');
  const third = await open(t, port);
  await third.ask(get('/me'), 'me');
  await second.closed;
  await first.ask(get('/me'), 'me');
  gate.resolve();
  assert.match(await waited, /^HTTP\/1\.1 200/);
});

test('a thousand callers that connect at once are all answered', async (t) => {
  const { url } = await startApp(t, { ...me, connections: { maxUnauthenticated: 16 } });
  const statuses = await Promise.all(
    Array.from({ length: 1_000 }, async () => {
      const reply = await fetch(`${url}/me`, {
        headers: { authorization: `Bearer ${TOKEN}`, connection: 'close' },
      });
      await reply.text();
      return reply.status;
    }),
  );
  assert.deepEqual([...new Set(statuses)], [200]);
});
