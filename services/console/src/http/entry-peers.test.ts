import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEntryPeers } from './entry-peers.ts';

const NOW = Date.UTC(2026, 0, 1);
const worker = {
  name: 'worker-7',
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
    tools: ['terminal'],
    mcp_health: { memory: 'ok' },
    active_tasks: 1,
    max_concurrent_tasks: 4,
    queued_tasks: 0,
    queue_depth: 100,
    free_slots: 3,
    ttl_s: 30,
    repo_state: { branch: 'main', clean: true, health: 'ok' },
  },
};

test('a peer that does not announce itself on the bus is read from the entry profile', () => {
  const found = readEntryPeers({ peers: [worker] }, NOW).get('worker-7');
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
    repository: { branch: 'main', clean: true, health: 'ok' },
    announced_at: '2025-12-31T23:59:57.500Z',
    ttl_s: 30,
  });
});

test('fields of a wrong type count as absent, and a peer without an announce has none', () => {
  const odd = {
    ...worker,
    name: 'odd',
    endpoint: 7,
    announce: { ready: 'no', mcp_health: [], tools: {}, ttl_s: -1 },
  };
  const found = readEntryPeers(
    { peers: [odd, { ...worker, name: 7 }, 'x', { name: 'silent', announce: null }] },
    NOW,
  );
  assert.deepEqual([...found.keys()], ['odd', 'silent']);
  const { announced } = found.get('odd') ?? {};
  assert.deepEqual(
    [
      announced?.endpoint,
      announced?.model,
      announced?.mcp,
      announced?.tools,
      announced?.repository,
      announced?.ttl_s,
    ],
    [null, 'unknown', [], [], null, 90],
  );
  assert.equal(found.get('silent')?.announced, null);
  assert.equal(readEntryPeers({}, NOW).size, 0);
});
