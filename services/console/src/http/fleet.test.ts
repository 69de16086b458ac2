import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FLEET } from '@hermes-fleet/protocol/api';
import { entryPeers } from './fleet.ts';

const NOW = Date.UTC(2026, 0, 1);
const worker = {
  name: 'worker-7',
  leaving: false,
  state: 'live',
  live: true,
  circuit_open_for_s: 0,
  in_flight: 0,
  blocked_rate: 0,
  latency_ms: 0,
  card: null,
  standing: 'joined',
  circuit: 'closed',
  endpoint: 'http://127.0.0.1:9230/jsonrpc',
  age_s: 2.5,
  announce: {
    role: 'worker',
    ready: true,
    model: 'm',
    model_tier: 'opus',
    model_health: 'ok',
    context_window: 200_000,
    protocol_versions: ['2.0'],
    tools: ['terminal'],
    mcp_health: { memory: 'ok' },
    active_tasks: 1,
    max_concurrent_tasks: 4,
    queued_tasks: 0,
    queue_depth: 100,
    free_slots: 3,
    ttl_s: 30,
    repo_state: { branch: 'main', clean: true, base_clean: false, health: 'ok' },
  },
};

test('a peer that does not announce itself on the bus is read from the entry profile', () => {
  const { peers } = FLEET.peers.answer.parse({
    profile: 'switch',
    peers: [worker, { ...worker, name: 'silent', announce: null }],
  });
  const known = entryPeers(peers, NOW);
  const found = known.get('worker-7');
  assert.equal(known.get('silent')?.announced, null);
  assert.deepEqual([found?.standing, found?.circuit], ['joined', 'closed']);
  assert.deepEqual(found?.announced, {
    role: 'worker',
    endpoint: worker.endpoint,
    ready: true,
    model: 'm',
    model_tier: 'opus',
    model_health: 'ok',
    context_window: 200_000,
    mcp: [{ name: 'memory', health: 'ok' }],
    tools: ['terminal'],
    active_tasks: 1,
    max_tasks: 4,
    queued_tasks: 0,
    queue_depth: 100,
    free_slots: 3,
    repository: { branch: 'main', clean: true, base_clean: false, health: 'ok' },
    announced_at: '2025-12-31T23:59:57.500Z',
    ttl_s: 30,
  });
});
