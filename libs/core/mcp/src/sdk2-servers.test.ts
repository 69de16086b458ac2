import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { greeter2 } from '../testing/greeter2.ts';
import { longTimeout, now, openPool } from '../testing/harness.ts';
import type { McpServerConfig } from './config.ts';

const STDIO_SERVER = fileURLToPath(new URL('../testing/sdk2-stdio-server.ts', import.meta.url));

async function overHttp(t: TestContext): Promise<McpServerConfig> {
  const handler = createMcpHandler(greeter2);
  const server = createServer(async (request, response) => {
    const { method = '' } = request;
    const parsedBody = method === 'POST' ? await json(request) : undefined;
    const headers = new Headers(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    const answer = await handler.fetch(new Request('http://localhost/mcp', { method, headers }), {
      parsedBody,
    });
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` };
}

const overStdio = async (): Promise<McpServerConfig> => ({
  command: process.execPath,
  args: [STDIO_SERVER],
  scope: 'profile',
});

for (const [name, open] of [
  ['HTTP', overHttp],
  ['stdio', overStdio],
] as const)
  test(`a server on version 2 of the official SDK is healthy, and its tools work over ${name}`, async (t) => {
    const pool = openPool(t, { it: await open(t) });
    const health = await pool.probe('it', now);
    assert.equal(health.state, 'ok', health.detail);
    const [tool] = await pool.listTools('it');
    assert.equal(tool?.name, 'greet');
    const result = await pool.callTool('it', 'greet', { name: 'neo' }, longTimeout());
    assert.deepEqual(result, { isError: false, content: 'hello neo' });
  });
