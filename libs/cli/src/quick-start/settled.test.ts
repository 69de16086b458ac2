import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import { createMetrics } from '@hermes-fleet/service';
import { silentPeers, waitUntilSettled } from './settled.ts';

const LAST_ANNOUNCE = 'fleet_peer_last_announce_timestamp_seconds';

test('a peer is silent in the metrics until its first announce', async () => {
  const metrics = createMetrics({ profile: 'switch', peers: ['neo', 'trinity'], callers: [] });
  assert.deepEqual(silentPeers(await metrics.registry.metrics()), ['neo', 'trinity']);
  metrics.set(LAST_ANNOUNCE, { peer: 'neo' }, 1_795_299_068.992);
  assert.deepEqual(silentPeers(await metrics.registry.metrics()), ['trinity']);
  assert.equal(silentPeers(''), undefined);
});

test('waiting ends when every peer has announced, or returns the silent ones', async (t) => {
  const metrics = createMetrics({ profile: 'switch', peers: ['neo'], callers: [] });
  let asked = 0;
  const server = createServer(async (_, reply) => {
    if (++asked === 2) metrics.set(LAST_ANNOUNCE, { peer: 'neo' }, 1);
    reply.end(await metrics.registry.metrics());
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  const url = `http://127.0.0.1:${address.port}`;
  assert.deepEqual(await waitUntilSettled(url, 0, clock), ['neo']);
  assert.deepEqual(await waitUntilSettled(url, 20_000, clock), []);
});
