import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { McpServer } from 'mcp-sdk-1/server/mcp.js';
import { StreamableHTTPServerTransport } from 'mcp-sdk-1/server/streamableHttp.js';
import { z } from 'zod';
import { longTimeout, now, openPool, untilState } from '../testing/harness.ts';

async function listen(t: TestContext, server: Server, port = 0): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port: bound } = server.address() as AddressInfo;
  return `http://127.0.0.1:${bound}/mcp`;
}

const http = (t: TestContext, listener: RequestListener): Promise<string> =>
  listen(t, createServer(listener));

function greeter(): McpServer {
  const server = new McpServer({ name: 'greeter', version: '1.0.0' });
  server.registerTool('greet', { inputSchema: { name: z.string() } }, ({ name }) => ({
    content: [{ type: 'text', text: `hello ${name}` }],
  }));
  return server;
}

/** Streamable HTTP without sessions: a new server for each request. */
async function stateless(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.on('close', () => void transport.close());
  await greeter().connect(transport);
  await transport.handleRequest(request, response);
}

/** Streamable HTTP with sessions that the server can lose, as in a restart. */
function stateful() {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const counts = { opened: 0, ended: 0 };
  const listener = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const id = request.headers['mcp-session-id'];
    let transport = typeof id === 'string' ? sessions.get(id) : undefined;
    if (id !== undefined && !transport) {
      response.writeHead(404).end();
      return;
    }
    if (!transport) {
      const opened = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => `s${counts.opened}`,
        onsessioninitialized: (session) => void sessions.set(session, opened),
        onsessionclosed: () => {
          counts.ended += 1;
        },
      });
      counts.opened += 1;
      transport = opened;
      await greeter().connect(transport);
    }
    await transport.handleRequest(request, response);
  };
  return { listener, counts, forget: () => sessions.clear() };
}

describe('an HTTP server', { timeout: 120_000 }, () => {
  it('without sessions is healthy and its tools work', async (t) => {
    const pool = openPool(t, { it: { url: await http(t, stateless) } });
    const health = await pool.probe('it', now);
    assert.equal(health.state, 'ok', health.detail);
    assert.deepEqual(
      (await pool.listTools('it')).map(({ name }) => name),
      ['greet'],
    );
    assert.deepEqual(await pool.callTool('it', 'greet', { name: 'neo' }, longTimeout()), {
      isError: false,
      content: 'hello neo',
    });
    assert.deepEqual(pool.pids(), []);
  });

  it('is followed to another path of its origin, and not to another origin, which sees nothing', async (t) => {
    const url = await http(t, (request, response) => {
      if (request.url === '/mcp') response.writeHead(307, { location: '/new' }).end();
      else void stateless(request, response);
    });
    assert.equal((await openPool(t, { it: { url } }).probe('it', now)).state, 'ok');
    let strays = 0;
    const other = await http(t, (_, response) => {
      strays += 1;
      response.end();
    });
    const moved = await http(t, (_, response) => void response.writeHead(307, { location: other }).end());
    const { state, detail } = await openPool(t, { it: { url: moved } }).probe('it', now);
    assert.equal(state, 'error');
    assert.match(
      detail ?? '',
      /^redirects to an address that is not followed \(HTTP status 307\): set the url/,
    );
    assert.equal(strays, 0);
  });

  it('receives the configured headers', async (t) => {
    const seen = new Set<string | undefined>();
    const url = await http(t, (request, response) => {
      seen.add(request.headers.authorization);
      void stateless(request, response);
    });
    const pool = openPool(t, { it: { url, headers: { authorization: 'Bearer t' } } });
    assert.equal((await pool.probe('it', now)).state, 'ok');
    assert.deepEqual([...seen], ['Bearer t']);
  });

  it('that has lost the session gets a new one, and the call is made once', async (t) => {
    const { listener, counts, forget } = stateful();
    const pool = openPool(t, { it: { url: await http(t, listener) } });
    assert.equal((await pool.probe('it', now)).state, 'ok');
    forget();
    assert.equal(
      (await pool.callTool('it', 'greet', { name: 'trinity' }, longTimeout())).content,
      'hello trinity',
    );
    assert.equal((await pool.probe('it', now)).state, 'ok');
    assert.equal(counts.opened, 2);
  });

  it('is informed when its session ends', async (t) => {
    const { listener, counts } = stateful();
    const pool = openPool(t, { it: { url: await http(t, listener) } });
    await pool.probe('it', now);
    await pool.close();
    assert.equal(counts.ended, 1);
  });

  it('that was down becomes healthy when it is back', async (t) => {
    const first = createServer(stateless);
    const url = await listen(t, first);
    const pool = openPool(t, { it: { url } });
    await untilState(pool, 'it', 'ok');
    first.close();
    first.closeAllConnections();
    assert.equal((await pool.probe('it', now)).state, 'error');
    assert.equal((await pool.probe('it', now)).detail, 'connection refused');
    await listen(t, createServer(stateless), Number(new URL(url).port));
    await untilState(pool, 'it', 'ok');
  });
});

describe('the health of an HTTP server distinguishes', { timeout: 120_000, concurrency: 4 }, () => {
  it('a closed port: error', async (t) => {
    const server = createTcpServer();
    const url = await listen(t, server);
    server.close();
    await once(server, 'close');
    const { state, detail } = await openPool(t, { it: { url } }).probe('it', now);
    assert.deepEqual({ state, detail }, { state: 'error', detail: 'connection refused' });
  });

  it('a server that never answers: timeout, within the probe timeout', async (t) => {
    const pool = openPool(t, { it: { url: await listen(t, createTcpServer()) } });
    const { state, detail } = await pool.probe('it', { maxAgeMs: 0, timeoutMs: 100 });
    assert.deepEqual({ state, detail }, { state: 'timeout', detail: 'timeout after 100 ms' });
    assert.equal((await pool.probe('it', now)).detail, 'timeout after 10000 ms');
  });

  it('a server that hangs after initialization: timeout', async (t) => {
    const url = await http(t, (request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        if (request.method !== 'POST') response.writeHead(405).end();
        else if (body.includes('"notifications/initialized"')) response.writeHead(202).end();
        else if (body.includes('"initialize"')) {
          const result = {
            protocolVersion: '2025-06-18',
            capabilities: {},
            serverInfo: { name: 'h', version: '1' },
          };
          response.writeHead(200, { 'content-type': 'application/json' });
          response.end(JSON.stringify({ jsonrpc: '2.0', id: 0, result }));
        }
      });
    });
    const { state, detail } = await openPool(t, { it: { url } }).probe('it', now);
    assert.deepEqual({ state, detail }, { state: 'timeout', detail: 'timeout after 5000 ms' });
  });

  for (const [name, answer, expected] of [
    ['HTTP status 500', (r) => r.writeHead(500).end('secret stack'), 'answered with HTTP status 500'],
    ['HTTP status 401', (r) => r.writeHead(401).end(), 'answered with HTTP status 401'],
    [
      'a page',
      (r) => r.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
      'answered with something that is not MCP',
    ],
    [
      'broken JSON',
      (r) => r.writeHead(200, { 'content-type': 'application/json' }).end('{'),
      'answered with something that is not MCP',
    ],
    [
      'other JSON',
      (r) => r.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
      'answered with something that is not MCP',
    ],
    ['a reset', (r) => r.socket?.destroy(), 'connection reset'],
  ] satisfies [string, (response: ServerResponse) => void, string][]) {
    it(`${name}: error`, async (t) => {
      const url = await http(t, (_, response) => void answer(response));
      const { state, detail } = await openPool(t, { it: { url } }).probe('it', now);
      assert.deepEqual({ state, detail }, { state: 'error', detail: expected });
    });
  }

  it('an endless answer: error', async (t) => {
    const url = await http(t, (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      flood(response, ' '.repeat(65_536));
    });
    const { state, detail } = await openPool(t, { it: { url } }).probe('it', now);
    assert.deepEqual({ state, detail }, { state: 'error', detail: 'answered with more than 10 MB' });
  });

  it('an endless error response: error, and reading stops', async (t) => {
    const closed = Promise.withResolvers<void>();
    const url = await http(t, (_, response) => {
      response.on('close', () => closed.resolve());
      response.writeHead(500, { 'content-type': 'text/plain' });
      flood(response, 'x'.repeat(65_536));
    });
    const { state, detail } = await openPool(t, { it: { url } }).probe('it', now);
    assert.deepEqual({ state, detail }, { state: 'error', detail: 'answered with HTTP status 500' });
    await closed.promise;
  });
});

function flood(response: ServerResponse, text: string): void {
  const more = (): void => {
    while (!response.destroyed && response.write(text));
    if (!response.destroyed) response.once('drain', more);
  };
  more();
}

describe('the GET stream of an HTTP server', { timeout: 60_000 }, () => {
  /** Answers requests statelessly, and the GET with a stream that starts with these bytes. */
  const streaming =
    (begin: (response: ServerResponse) => void) => (r: IncomingMessage, a: ServerResponse) => {
      if (r.method !== 'GET') return void stateless(r, a);
      a.writeHead(200, { 'content-type': 'text/event-stream' });
      begin(a);
    };

  it('ends at an event of more than 10 MB', async (t) => {
    const closed = Promise.withResolvers<void>();
    const url = await http(
      t,
      streaming((response) => {
        response.on('close', () => closed.resolve());
        flood(response, `data: ${'x'.repeat(65_000)}\r\n`);
      }),
    );
    const pool = openPool(t, { it: { url } });
    assert.equal((await pool.probe('it', now)).state, 'ok');
    await closed.promise;
  });

  it('continues over any number of events', async (t) => {
    const event = `: comment\r\n\r\ndata: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(1_000_000) } })}\n\n`;
    const sent = Promise.withResolvers<string>();
    const url = await http(
      t,
      streaming((response) => {
        response.on('close', () => sent.resolve('closed'));
        response.write(event.repeat(15), () => {
          const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
          response.write(`data: ${JSON.stringify(changed)}\n\n`, () => sent.resolve('all sent'));
        });
      }),
    );
    const pool = openPool(t, { it: { url } });
    const listed = await pool.listTools('it');
    assert.equal(await sent.promise, 'all sent');
    // The notification behind the 15 MB arrived: the tools are listed again.
    while ((await pool.listTools('it')) === listed) await pool.probe('it', now);
  });
});
