import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { fleetErrorOf, silentLog } from '@hermes-fleet/protocol/testing';
import { createA2AClient } from '../index.ts';

const client = createA2AClient({ clock: systemClock, log: silentLog, extensions: [] });
const soon = { timeoutMs: 10_000 };

/** Serves cards by path, and 404 for every other path. */
async function cards(t: TestContext, at: Record<string, JsonObject | number>) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const card = at[request.url ?? ''] ?? 404;
    if (typeof card === 'number') response.writeHead(card).end();
    else response.end(JSON.stringify(card));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return { base: `http://127.0.0.1:${address.port}`, asked };
}

const offer = (...interfaces: (readonly [url: string, binding: string, version: string])[]): JsonObject => ({
  name: 'A',
  supportedInterfaces: interfaces.map(([url, protocolBinding, protocolVersion]) => ({
    url,
    protocolBinding,
    protocolVersion,
  })),
});
const USUAL = offer(['http://a.example/rpc', 'JSONRPC', '1.0']);
const WELL_KNOWN = '/.well-known/agent-card.json';

test('discover finds an agent by its base URL, a path below it, its origin, or the URL of its card', async (t) => {
  const cases: [path: string, card: string, asked: string[]][] = [
    ['', WELL_KNOWN, [WELL_KNOWN]],
    ['/', WELL_KNOWN, [WELL_KNOWN]],
    ['/agents/a', `/agents/a${WELL_KNOWN}`, [`/agents/a${WELL_KNOWN}`]],
    ['/agents/a/', `/agents/a${WELL_KNOWN}`, [`/agents/a${WELL_KNOWN}`]],
    ['/jsonrpc', WELL_KNOWN, [`/jsonrpc${WELL_KNOWN}`, WELL_KNOWN]],
    ['/cards/a.json', '/cards/a.json', ['/cards/a.json']],
  ];
  for (const [path, card, expected] of cases) {
    const { base, asked } = await cards(t, { [card]: USUAL });
    assert.equal((await client.discover(`${base}${path}`, soon)).url, 'http://a.example/rpc');
    assert.deepEqual(asked, expected);
  }
});

test('discover chooses the newest supported JSON-RPC interface', async (t) => {
  const cases: [card: JsonObject, url: string, version: string][] = [
    [offer(['http://a/3', 'JSONRPC', '0.3.0'], ['http://a/1', 'JSONRPC', '1.0']), 'http://a/1', '1.0'],
    [offer(['http://a/g', 'GRPC', '1.0'], ['http://a/1', 'JSONRPC', '1.2.1']), 'http://a/1', '1.0'],
    [offer(['a.example:443', 'GRPC', '1.0'], ['http://a/3', 'JSONRPC', '0.3']), 'http://a/3', '0.3'],
    [{ name: 'A', url: 'http://a/old', protocolVersion: '0.3.0' }, 'http://a/old', '0.3'],
    [
      {
        name: 'A',
        url: 'http://a/grpc',
        preferredTransport: 'GRPC',
        additionalInterfaces: [{ url: 'http://a/old', transport: 'JSONRPC' }],
      },
      ...(['http://a/old', '0.3'] as const),
    ],
  ];
  for (const [card, url, version] of cases) {
    const { base } = await cards(t, { [WELL_KNOWN]: card });
    const found = await client.discover(base, soon);
    assert.deepEqual([found.url, found.version], [url, version]);
  }
});

test('an invalid card or one without a supported interface is PEER_REFUSED; an absent agent is PEER_UNREACHABLE', async (t) => {
  const cases: [card: JsonObject | number, words: RegExp][] = [
    [404, /NOT_FOUND/],
    [{ hello: 'x' }, /not an agent card/],
    [
      offer(['http://a/', 'JSONRPC', '7.0'], ['http://a/', 'JSONRPC', '0.30']),
      /offers no JSON-RPC of A2A 1\.0 or 0\.3/,
    ],
    [offer(['file:///etc/passwd', 'JSONRPC', '1.0']), /offers no JSON-RPC/],
  ];
  for (const [card, words] of cases) {
    const { base } = await cards(t, { [WELL_KNOWN]: card });
    const error = await fleetErrorOf(client.discover(base, soon));
    assert.equal(error.code, 'PEER_REFUSED');
    assert.match(error.message, words);
  }
  const { base } = await cards(t, { [WELL_KNOWN]: 500, [`/x${WELL_KNOWN}`]: 503 });
  assert.equal((await fleetErrorOf(client.discover(`${base}/x`, soon))).retryable, true);
});
