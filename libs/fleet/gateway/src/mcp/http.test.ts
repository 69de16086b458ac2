import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { mcpFleet } from '../../testing/mcp-fleet.ts';
import { spending } from '../../testing/relay-fleet.ts';

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };

test('a client without a token learns where the metadata of the resource is', async (t) => {
  const { url, post } = await mcpFleet(t, spending(1));
  const metadataUrl = `${url}/.well-known/oauth-protected-resource/mcp`;
  for (const authorization of ['', 'Bearer wrong', 'Basic eDp5']) {
    const refused = await post(PING, { authorization });
    assert.equal(refused.status, 401, authorization);
    assert.equal(refused.headers.get('www-authenticate'), `Bearer resource_metadata="${metadataUrl}"`);
    assert.match(await refused.text(), /"reason":"UNAUTHENTICATED"/);
  }
  for (const address of [metadataUrl, `${url}/.well-known/oauth-protected-resource`]) {
    const reply = await fetch(address);
    assert.deepEqual(
      [reply.status, await reply.json()],
      [
        200,
        {
          resource: `${url}/mcp`,
          resource_name: 'switch of a Hermes Fleet',
          bearer_methods_supported: ['header'],
          scopes_supported: ['dispatch', 'read'],
        },
      ],
    );
  }
});

test('a foreign web page is refused even with a token, and changes nothing', async (t) => {
  const { url, post, one } = await mcpFleet(t, spending(1));
  const call = {
    ...PING,
    method: 'tools/call',
    params: { name: 'fleet_dispatch', arguments: { brief: 'x' } },
  };
  for (const origin of ['https://evil.example', 'null']) {
    const refused = await post(call, { origin });
    assert.equal(refused.status, 403, origin);
    assert.match(await refused.text(), /"reason":"FORBIDDEN"/);
  }
  const metadata = await fetch(`${url}/.well-known/oauth-protected-resource`, {
    headers: { origin: 'https://evil.example' },
  });
  assert.equal(metadata.status, 403);
  assert.equal((await post(PING, { origin: 'http://localhost:3000' })).status, 200);
  assert.equal(one.ledger.list({ pageSize: 1 }).totalSize, 0);
});

test('only single messages of MCP by POST are answered', async (t) => {
  const { url, post } = await mcpFleet(t, spending(1));
  const cases: [what: string, body: unknown, headers: Record<string, string>, status: number][] = [
    ['no JSON', '{', {}, 400],
    ['a batch', [PING], {}, 400],
    ['a text', '"ping"', {}, 400],
    ['no JSON-RPC', { method: 'ping' }, {}, 400],
    ['no Accept for streams', PING, { accept: 'application/json' }, 406],
    ['an MCP version that is none', PING, { 'mcp-protocol-version': '1999-01-01' }, 400],
    ['another content type', 'x', { 'content-type': 'text/plain' }, 415],
    ['a ping', PING, {}, 200],
    ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }, {}, 202],
    [
      'a call without an id',
      { jsonrpc: '2.0', method: 'tools/call', params: { name: 'fleet_tasks' } },
      {},
      202,
    ],
  ];
  for (const [what, body, headers, status] of cases) {
    const reply = await post(body, headers);
    assert.equal(reply.status, status, what);
    const text = await reply.text();
    if (status >= 400) assert.match(text, /"error":{/, what);
  }
  for (const method of ['GET', 'DELETE']) {
    const reply = await fetch(`${url}/mcp`, { method });
    assert.deepEqual([reply.status, reply.headers.get('allow')], [405, 'POST'], method);
    await reply.text();
  }
});

test('a message of more than 100 levels is refused, whatever it asks for, and starts nothing', async (t) => {
  const { post, one } = await mcpFleet(t, spending(1));
  const schema = (levels: number) => `${'{"not":'.repeat(levels)}{}${'}'.repeat(levels)}`;
  const call = (name: string, levels: number) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":{"brief":"x","output_schema":${schema(levels)}}}}`;
  const deep = (levels: number) => [
    call('fleet_dispatch', levels - 4),
    call('fleet_route', levels - 4),
    `{"jsonrpc":"2.0","id":1,"method":"ping","params":${schema(levels - 2)}}`,
    `{"jsonrpc":"2.0","id":1,"result":${schema(levels - 2)}}`,
  ];
  for (const levels of [101, 400, 1_600, 100_000])
    for (const body of deep(levels)) {
      const reply = await post(body);
      const { error } = JSON.parse(await reply.text());
      assert.deepEqual([reply.status, error.code], [400, -32600], `${levels}: ${body.slice(0, 80)}`);
      assert.match(error.message, /^the body is nested deeper than 100 levels/);
    }
  assert.equal(one.ledger.list({ pageSize: 1 }).totalSize, 0);
  for (const body of deep(100)) assert.ok((await post(body)).status < 300, body.slice(0, 80));
});

test('behind a proxy that ends TLS, the metadata has the public address', async (t) => {
  const { url } = await mcpFleet(t, spending(1), { publicUrl: 'https://localhost:4443' });
  for (const [host, origin] of [
    ['localhost:4443', 'https://localhost:4443'],
    ['localhost:4444', 'http://localhost:4444'],
  ] as const) {
    const request = get(`${url}/.well-known/oauth-protected-resource/mcp`, {
      headers: { host },
      agent: false,
    });
    const [reply] = await once(request, 'response');
    assert.equal(JSON.parse(await text(reply)).resource, `${origin}/mcp`);
  }
});
