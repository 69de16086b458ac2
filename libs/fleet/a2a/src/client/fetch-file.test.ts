import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { hasCode } from '@hermes-fleet/protocol/testing';
import { createA2AClient } from './client.ts';

const client = createA2AClient({ clock: systemClock, log: silentLog, extensions: [] });
const call = { timeoutMs: 5_000, signal: new AbortController().signal, traceparent: undefined, maxBytes: 4 };

/** A server of files, and the authorization of each request. */
async function fileServer(t: TestContext) {
  const tokens: (string | undefined)[] = [];
  const server = createServer(({ url, headers }, reply) => {
    tokens.push(headers.authorization);
    if (url === '/moved') reply.writeHead(302, { location: '/four' }).end();
    else if (url === '/broken') reply.writeHead(500).end('no');
    else if (url === '/later') reply.writeHead(408).end();
    else if (url === '/busy') reply.writeHead(429).end();
    else if (url === '/four') reply.end('four');
    else if (url === '/five') reply.end('fives');
    else reply.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return { url: `http://127.0.0.1:${address.port}`, tokens };
}

test("a peer's file is read with the peer's token, up to a size", async (t) => {
  const { url, tokens } = await fileServer(t);
  const peer = { name: 'neo', url: `${url}/jsonrpc`, token: 'secret' };
  assert.equal((await client.file(peer, `${url}/four`, call)).toString(), 'four');
  assert.deepEqual(tokens, ['Bearer secret']);
  await assert.rejects(
    client.file(peer, `${url}/five`, call),
    hasCode('ARTIFACT_TOO_LARGE', /more than 4 bytes/),
  );
  await assert.rejects(client.file(peer, `${url}/none`, call), hasCode('PEER_REFUSED', /HTTP 404/));
  await assert.rejects(client.file(peer, `${url}/broken`, call), hasCode('PEER_UNREACHABLE', /HTTP 500/));
  for (const [path, retryable] of [
    ['later', true],
    ['busy', true],
    ['none', false],
  ])
    await assert.rejects(client.file(peer, `${url}/${path}`, call), { code: 'PEER_REFUSED', retryable });
  await assert.rejects(client.file(peer, `${url}/moved`, call), hasCode('PEER_REFUSED', /HTTP 302/));
});

test('no request, and so no token, goes to another address than the peer has', async (t) => {
  const peer = await fileServer(t);
  const other = await fileServer(t);
  const endpoint = { name: 'neo', url: `${peer.url}/jsonrpc`, token: 'secret' };
  for (const url of [
    `${other.url}/four`,
    peer.url.replace('127.0.0.1', 'localhost'),
    'file:///etc/passwd',
    'no url',
  ])
    await assert.rejects(client.file(endpoint, url, call), hasCode('PEER_REFUSED', /does not serve/));
  assert.deepEqual([peer.tokens, other.tokens], [[], []]);
});
