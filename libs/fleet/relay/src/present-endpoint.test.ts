import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PeerEndpoint } from '@hermes-fleet/a2a';
import { presentEndpoint } from './present-endpoint.ts';

test('a peer is asked at the address and with the token that it has now, or had last', () => {
  let endpoint: PeerEndpoint | undefined = { name: 'neo-1', url: 'http://a:9220/jsonrpc', token: 'one' };
  const peers = { get: (name: string) => (name === 'neo-1' ? { endpoint } : undefined) };
  const peer = presentEndpoint(peers, 'neo-1');
  assert.deepEqual([peer?.url, peer?.token], ['http://a:9220/jsonrpc', 'one']);
  endpoint = { name: 'neo-1', url: 'http://b:9220/jsonrpc', token: 'two' };
  assert.deepEqual([peer?.url, peer?.token], ['http://b:9220/jsonrpc', 'two']);
  endpoint = undefined;
  assert.deepEqual([peer?.url, peer?.token], ['http://b:9220/jsonrpc', 'two']);
  assert.equal(presentEndpoint(peers, 'neo-1'), undefined);
  assert.equal(presentEndpoint(peers, 'nobody'), undefined);
});
