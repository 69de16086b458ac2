import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { exchange, parseReply, startApp, TOKEN } from '../../testing/start-app.ts';
import { translateError } from './errors.ts';

const refused = (code: string, message: string) => ({ error: { code, message, fields: [] } });
const head = (path: string, rest = ''): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\ncontent-type: application/json\r\n${rest}`;

test('bytes that are not HTTP get a 400 and are counted', async (t) => {
  const { port, logs, metrics } = await startApp(t);
  const { status, headers, body } = parseReply(await exchange(port, 'hello?\r\n\r\n'));
  assert.equal(status, 400);
  assert.match(headers, /connection: close/);
  assert.deepEqual(body, refused('INVALID_REQUEST', 'this is not a valid HTTP request'));
  await logs.find(({ msg, status: logged }) => msg === 'connection refused' && logged === 400);
  assert.match(
    await metrics.registry.metrics(),
    /fleet_http_requests_total\{method="other",route="unparsed",status="400"\} 1/,
  );
});

test('headers that are too large get a 431', async (t) => {
  const { port } = await startApp(t);
  const { status, body } = parseReply(await exchange(port, head('/', `x: ${'y'.repeat(20_000)}\r\n\r\n`)));
  assert.equal(status, 431);
  assert.deepEqual(body, refused('HEADERS_TOO_LARGE', 'the headers are too large; send fewer'));
});

test('chunk extensions that are too large get a 413', async (t) => {
  const { port } = await startApp(t, { routes: (app) => app.post('/echo', async ({ body }) => body) });
  const chunk = `1;${'e'.repeat(20_000)}\r\n`;
  const { status, body } = parseReply(
    await exchange(port, head('/echo', `transfer-encoding: chunked\r\n\r\n${chunk}`), '}}'),
  );
  assert.equal(status, 413);
  assert.deepEqual(body, refused('BODY_TOO_LARGE', 'the chunk extensions are too large'));
});

test('a slow client gets a 408: silent, in its headers, or in its body', async (t) => {
  const { port, logs } = await startApp(t, {
    requestTimeoutMs: 200,
    routes: (app) => app.post('/echo', async ({ body }) => body),
  });
  const late = refused('REQUEST_TIMEOUT', 'the request was not complete after 200 ms; send it faster');
  for (const bytes of [
    '',
    'POST /echo HTTP/1.1\r\nhost: x\r\n',
    head('/echo', 'content-length: 9\r\n\r\n{'),
  ]) {
    const { status, body } = parseReply(await exchange(port, bytes));
    assert.equal(status, 408);
    assert.deepEqual(body, late);
  }
  const line = await logs.find(({ route, status }) => route === '/echo' && status === 408);
  assert.equal(line.level, 'info');
  assert.equal(line.code, 'REQUEST_TIMEOUT');
  assert.equal(line.caller, 'switch');
});

test('a handler may take longer than the request timeout', async (t) => {
  const entered = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  t.after(() => gate.resolve());
  const { port } = await startApp(t, {
    requestTimeoutMs: 100,
    routes: (app) =>
      app.post('/work', async () => {
        entered.resolve();
        await gate.promise;
        return { done: true };
      }),
  });
  const working = exchange(port, head('/work', 'content-length: 2\r\n\r\n{}'), '}');
  await entered.promise;
  // A later silent client times out, which proves that the timeout of the running request has passed.
  assert.equal(parseReply(await exchange(port, '')).status, 408);
  gate.resolve();
  assert.equal(parseReply(await working).status, 200);
});

test('a route may allow the bodies of its callers more time than a request has', async (t) => {
  const { port } = await startApp(t, {
    requestTimeoutMs: 100,
    routes: (app) => {
      app.addContentTypeParser('x/y', (_request, _payload, done) => done(null));
      app.post('/long', { config: { longBody: true } }, async ({ raw }) => ({ said: await text(raw) }));
    },
  });
  const uploading = async (authorization: string): Promise<string> => {
    const socket = connect({ port, host: '127.0.0.1' });
    t.after(() => socket.destroy());
    socket.write(
      `POST /long HTTP/1.1\r\nhost: x\r\n${authorization}content-type: x/y\r\ncontent-length: 2\r\n\r\na`,
    );
    // A later silent client times out, which proves that the timeout of the earlier request has passed.
    assert.equal(parseReply(await exchange(port, '')).status, 408);
    socket.end('b');
    return text(socket);
  };
  const { status, body } = parseReply(await uploading(`authorization: Bearer ${TOKEN}\r\n`));
  assert.deepEqual([status, body], [200, { said: 'ab' }]);
  assert.match(await uploading(''), /^HTTP\/1\.1 401 /);
});

test('a slow body after an early reply is cut off eventually', async (t) => {
  const { port } = await startApp(t, {
    requestTimeoutMs: 200,
    routes: (app) => app.post('/echo', async ({ body }) => body),
  });
  const received = await exchange(port, 'POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n{');
  const { status } = parseReply(received);
  assert.equal(status, 401);
  assert.equal(received.split('HTTP/1.1').length, 2, 'one reply, without a second one for the timeout');
});

test('an incomplete body is rejected, also on a half-closed connection', async (t) => {
  const { port, logs } = await startApp(t, { routes: (app) => app.post('/echo', async ({ body }) => body) });
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.setEncoding('utf8');
  let received = '';
  socket.on('data', (text) => {
    received += text;
  });
  socket.end(head('/echo', 'content-length: 99\r\n\r\n{'));
  await once(socket, 'close');
  const { status, body } = parseReply(received);
  assert.equal(status, 400);
  assert.deepEqual(body, refused('INVALID_REQUEST', 'this is not a valid HTTP request'));
  const line = await logs.find(({ route }) => route === '/echo');
  assert.deepEqual([line.status, line.level], [400, 'info']);
});

test('a client that disconnects during its body is logged with 499', async (t) => {
  const entered = Promise.withResolvers<void>();
  const failed = Promise.withResolvers<string>();
  const { port, logs, metrics } = await startApp(t, {
    routes: (app) => {
      app.register(async (scope) => {
        scope.addHook('preParsing', async () => entered.resolve());
        scope.setErrorHandler((thrown, request, reply) => {
          failed.resolve(translateError(thrown, request, reply).code);
          return reply.send();
        });
        scope.post('/echo', async ({ body }) => body);
      });
    },
  });
  const socket = connect(port, '127.0.0.1');
  socket.write(head('/echo', 'content-length: 99\r\n\r\n{'));
  await entered.promise;
  socket.resetAndDestroy();
  const line = await logs.find(({ route }) => route === '/echo');
  assert.deepEqual([line.status, line.aborted, line.level], [499, true, 'info']);
  assert.equal(await failed.promise, 'CANCELED');
  assert.match(await metrics.registry.metrics(), /route="\/echo",status="499"\} 1/);
});

test('a client that disconnects while it waits is logged with 499', async (t) => {
  const entered = Promise.withResolvers<void>();
  const { port, logs } = await startApp(t, {
    closeGraceMs: 10,
    routes: (app) =>
      app.post('/wait', () => {
        entered.resolve();
        return new Promise(() => {});
      }),
  });
  const socket = connect(port, '127.0.0.1');
  socket.write(head('/wait', 'content-length: 2\r\n\r\n{}'));
  await entered.promise;
  socket.destroy();
  const line = await logs.find(({ route }) => route === '/wait');
  assert.deepEqual([line.status, line.aborted, line.level], [499, true, 'info']);
});

test('garbage after a finished reply gets a 400; garbage during a reply closes the connection', async (t) => {
  const { port } = await startApp(t, {
    authenticate: undefined,
    routes: (app) => {
      app.get('/stream', (_request, reply) => {
        reply.hijack();
        reply.raw.writeHead(200, { 'content-type': 'text/plain' });
        reply.raw.write('first part');
      });
    },
  });
  const garbageAfter = async (path: string, seen: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1');
    socket.setEncoding('utf8');
    let received = '';
    socket.on('data', (text) => {
      received += text;
      if (received.endsWith(seen)) socket.write('garbage\r\n\r\n');
    });
    socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    await once(socket, 'close');
    return received;
  };
  assert.match(await garbageAfter('/ready', '}'), /^HTTP\/1\.1 200 OK[\s\S]*HTTP\/1\.1 400 Bad Request/);
  assert.equal((await garbageAfter('/stream', 'first part\r\n')).split('HTTP/1.1').length, 2);
});
