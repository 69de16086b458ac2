import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, serve } from '../../testing/serve.ts';

const LEGACY = ['url', 'preferredTransport', 'protocolVersion', 'additionalInterfaces', 'security'];

test('only a client that asks for A2A 1.0 or newer gets the card without the fields of 0.3', async (t) => {
  const { url, rpcUrl } = await serve(t);
  const read = async (query: string, version?: string) => {
    const headers: Record<string, string> = version === undefined ? {} : { 'a2a-version': version };
    const response = await fetch(`${url}/.well-known/agent-card.json${query}`, { headers });
    const card: Record<string, unknown> = JSON.parse(await response.text());
    return { card, headers: response.headers };
  };
  const pure = await read('', '1.0');
  const both = await read('');
  for (const [query, version] of [
    ['', '1.0.1'],
    ['', '2.0'],
    ['?A2A-Version=1.0', undefined],
    ['?a2a-version=1.0', undefined],
    ['?A2A-Version=0.3', '1.0'],
  ] as const)
    assert.deepEqual((await read(query, version)).card, pure.card, `${query} ${version}`);
  for (const [query, version] of [
    ['', '0.3'],
    ['', '0.3.0'],
    ['', 'latest'],
    ['?A2A-Version=0.3', undefined],
    ['?A2A-Version=1.0', '0.3'],
    ['?A2A-Version=1.0&A2A-Version=1.0', undefined],
  ] as const)
    assert.deepEqual((await read(query, version)).card, both.card, `${query} ${version}`);

  const { securitySchemes, ...rest } = both.card;
  assert.deepEqual(
    Object.keys(pure.card).filter((key) => LEGACY.includes(key)),
    [],
  );
  assert.deepEqual({ ...pure.card, ...rest, securitySchemes }, both.card);
  assert.deepEqual(
    [rest.url, rest.preferredTransport, rest.protocolVersion, rest.additionalInterfaces, rest.security],
    [rpcUrl, 'JSONRPC', '0.3.0', [{ url: rpcUrl, transport: 'JSONRPC' }], [{ bearer: [] }]],
  );
  const bearer = { scheme: 'Bearer', description: 'One token per caller' };
  assert.deepEqual(securitySchemes, { bearer: { type: 'http', ...bearer, httpAuthSecurityScheme: bearer } });
  assert.deepEqual(at(pure.card, 'securitySchemes', 'bearer'), { httpAuthSecurityScheme: bearer });

  assert.notEqual(pure.headers.get('etag'), both.headers.get('etag'));
  for (const { headers } of [pure, both]) {
    assert.equal(headers.get('vary'), 'host, a2a-version');
    const modified = headers.get('last-modified') ?? '';
    assert.equal(new Date(modified).toUTCString(), modified);
  }
});
