import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { manualClock } from '@hermes-fleet/protocol/testing';
import { createHostProxy, type HostProxyOptions } from './host-proxy.ts';

const TO_LOOPBACK: HostProxyOptions['resolve'] = async () => [{ address: '127.0.0.1', family: 4 }];

async function portOf(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
}

/** A web server of this machine. */
const web = (t: TestContext, handle: (request: IncomingMessage, response: ServerResponse) => void) =>
  portOf(t, createHttp(handle));

/** A proxy, and what it has refused. */
async function proxy(t: TestContext, options: Partial<HostProxyOptions>) {
  const refused: string[] = [];
  const hosts = { allow: [], allowInternal: [], ...options.hosts };
  const serve = createHostProxy({ clock: systemClock, resolve: TO_LOOPBACK, ...options, hosts });
  const served: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    served.push(socket);
    serve(socket, (target, reason) => refused.push(`${target}: ${reason}`));
  });
  const port = await portOf(t, server);
  t.after(() => {
    for (const socket of served) socket.destroy();
  });
  const begin = (request: string): Socket => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.write(request);
    return socket;
  };
  const ask = async (request: string): Promise<string> => text(begin(request));
  return { refused, begin, ask };
}

test('a tunnel carries bytes both ways, also those that come with the request, and half-closed', async (t) => {
  const echo = await portOf(
    t,
    createServer({ allowHalfOpen: true }, async (socket) => socket.end(`got ${await text(socket)}`)),
  );
  const { begin, refused } = await proxy(t, { hosts: { allow: [], allowInternal: [`echo.test:${echo}`] } });
  const socket = begin(`CONNECT echo.test:${echo} HTTP/1.1\r\nHost: x\r\n\r\nearly `);
  await once(socket, 'readable');
  socket.end('late');
  assert.equal(await text(socket), 'HTTP/1.1 200 Connection established\r\n\r\ngot early late');
  assert.deepEqual(refused, []);
});

test('a request with an http address is passed on, with the host of its address and no header of the connection', async (t) => {
  const seen: IncomingMessage[] = [];
  const port = await web(t, async (request, response) => {
    seen.push(request);
    response.writeHead(201, { 'set-cookie': ['a=1', 'b=2'], 'x-of': 'server' });
    response.end(`got ${await text(request)}`);
  });
  const { ask } = await proxy(t, { hosts: { allow: [], allowInternal: [`web.test:${port}`] } });
  const head = [
    `POST http://web.test:${port}/a/b?c=d HTTP/1.1`,
    'Host: other.test',
    'Connection: close, x-hop',
    'X-Hop: 1',
    'Proxy-Authorization: Basic c2VjcmV0',
    'X-Kept: 1',
    'Content-Length: 4',
  ];
  const answer = await ask(`${head.join('\r\n')}\r\n\r\nbody`);
  assert.match(answer, /^HTTP\/1\.1 201 /);
  assert.match(answer, /set-cookie: a=1\r\nset-cookie: b=2/i);
  assert.match(answer, /got body/);
  const [{ method, url, headers } = assert.fail()] = seen;
  assert.deepEqual(
    [method, url, headers.host, headers['x-kept']],
    ['POST', '/a/b?c=d', `web.test:${port}`, '1'],
  );
  assert.deepEqual(
    Object.keys(headers).filter((name) => /^(x-hop|proxy)/.test(name)),
    [],
  );
});

test('a chunked body arrives as one, whatever the method, and what follows it is no request', async (t) => {
  const seen: string[] = [];
  const port = await web(t, async (request, response) => {
    seen.push(`${request.method} ${request.headers['transfer-encoding']} ${await text(request)}`);
    response.end();
  });
  const { ask } = await proxy(t, { hosts: { allow: [], allowInternal: [`web.test:${port}`] } });
  const methods = ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'POST'];
  for (const method of methods) {
    const head = `${method} http://web.test:${port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`;
    const answer = await ask(`${head}Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n`);
    assert.match(answer, /^HTTP\/1\.1 200 /, method);
    assert.match(await ask(`${head}\r\n`), /^HTTP\/1\.1 200 /, method);
  }
  assert.deepEqual(
    seen,
    methods.flatMap((method) => [`${method} chunked body`, `${method} undefined `]),
  );
});

test('what is not named, an address, and a name without a public address are refused, with the reason', async (t) => {
  let reached = 0;
  const port = await web(t, (_, response) => {
    reached += 1;
    response.end();
  });
  const allow = [
    `inner.test:${port}`,
    `*.wild.test:${port}`,
    `localhost:${port}`,
    `mine.test:${port}`,
    `*.mine.test:${port}`,
  ];
  const resolve: HostProxyOptions['resolve'] = async (host) => {
    if (host === 'mapped.mine.test') return [{ address: '::ffff:8.8.8.8', family: 6 }];
    return [{ address: host === 'mine.test' ? '8.8.8.8' : '127.0.0.1', family: 4 }];
  };
  const own = () => ['8.8.8.8', 'fe80::1', '127.0.0.1'];
  const { ask, refused } = await proxy(t, { hosts: { allow, allowInternal: [] }, resolve, own });
  const expected = [
    ['other.test', 'it is not in tools.shell.network.allow'],
    ['127.0.0.1', 'it is an address, and tools.shell.network.allow does not have it'],
    ['[::1]', 'it is an address, and tools.shell.network.allow does not have it'],
    ...['inner.test', 'a.wild.test', 'localhost', 'mine.test', 'mapped.mine.test'].map((host) => [
      host,
      'it has no public address, and tools.shell.network.allow_internal does not have it',
    ]),
  ].map(([host, reason]) => `${host}:${port}: ${reason}`);
  for (const line of expected) {
    const authority = line.slice(0, line.indexOf(': '));
    for (const request of [`CONNECT ${authority} HTTP/1.1`, `GET http://${authority}/ HTTP/1.1`]) {
      const answer = await ask(`${request}\r\nHost: x\r\nConnection: close\r\n\r\n`);
      assert.match(answer, /^HTTP\/1\.1 403 Forbidden\r\n/);
      assert.ok(answer.includes(`the network of this task refused ${line}\n`), answer);
    }
  }
  assert.deepEqual(
    refused,
    expected.flatMap((line) => [line, line]),
  );
  assert.equal(reached, 0);
});

test('what no proxy can do is refused as such, and is no refusal of a host', async (t) => {
  const { ask, refused } = await proxy(t, { hosts: { allow: ['a.test', 'a.test:21'], allowInternal: [] } });
  for (const line of [
    'CONNECT a.test',
    'GET /',
    'GET ftp://a.test/x',
    'GET https://a.test/',
    'CONNECT a.test:0',
  ])
    assert.match(
      await ask(`${line} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n`),
      /^HTTP\/1\.1 400 Bad Request\r\n/,
      line,
    );
  const long = `GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`;
  assert.match(await ask(long), /^HTTP\/1\.1 431 /);
  assert.deepEqual(refused, []);
});

test('a host that cannot be reached is named, also one that never answers', async (t) => {
  const closed = createServer();
  const port = await portOf(t, closed);
  closed.close();
  await once(closed, 'close');
  const allowInternal = [`gone.test:${port}`, `web.test:${port}`];
  const { ask } = await proxy(t, { hosts: { allow: [], allowInternal } });
  const to = (host: string): string => `CONNECT ${host}:${port} HTTP/1.1\r\nHost: x\r\n\r\n`;
  assert.match(
    await ask(to('gone.test')),
    /^HTTP\/1\.1 502 Bad Gateway\r\n[\s\S]*gone\.test:\d+ cannot be reached: ECONNREFUSED\n$/,
  );
  assert.match(
    await ask(`GET http://web.test:${port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
    /^HTTP\/1\.1 502 [\s\S]*cannot be reached: ECONNREFUSED\n/,
  );
  const clock = manualClock();
  const { promise: asked, resolve: looksUp } = Promise.withResolvers<void>();
  const silent = await proxy(t, {
    clock,
    hosts: { allow: ['gone.test'], allowInternal: [] },
    resolve: () => {
      looksUp();
      return new Promise(() => {});
    },
  });
  const answer = silent.ask('CONNECT gone.test:443 HTTP/1.1\r\nHost: x\r\n\r\n');
  await asked;
  clock.advance(30_000);
  assert.match(
    await answer,
    /^HTTP\/1\.1 502 [\s\S]*gone\.test:443 cannot be reached: no answer within 30 s\n$/,
  );
});

test('the end of one side is the end of the other', async (t) => {
  const { promise: accepted, resolve } = Promise.withResolvers<Socket>();
  const port = await portOf(
    t,
    createServer((socket) => resolve(socket.on('error', () => {}))),
  );
  const { begin } = await proxy(t, { hosts: { allow: [], allowInternal: [`a.test:${port}`] } });
  const client = begin(`CONNECT a.test:${port} HTTP/1.1\r\nHost: x\r\n\r\n`);
  client.on('error', () => {});
  const upstream = await accepted;
  await once(client, 'readable');
  client.resetAndDestroy();
  await once(upstream, 'close');
});
