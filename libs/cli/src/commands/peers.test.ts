import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fleet, profileStub } from '../testing/profile-stub.ts';

const announce = {
  ready: true,
  model: 'offline/runbook',
  model_tier: 'haiku',
  active_tasks: 2,
  queued_tasks: 3,
  max_concurrent_tasks: 4,
  model_health: 'ok',
  mcp_health: { filesystem: 'ok', memory: 'timeout' },
};
const PEERS = {
  profile: 'neo',
  peers: [
    {
      name: 'trinity',
      standing: 'configured',
      state: 'live',
      age_s: 4.2,
      circuit: 'open',
      endpoint: 'http://trinity:9222/jsonrpc',
      announce,
    },
    {
      name: 'worker',
      standing: 'joined',
      state: 'stale',
      age_s: 120,
      circuit: 'closed',
      endpoint: 'http://w:1/jsonrpc',
      announce: { ...announce, ready: false, queued_tasks: 0, model_health: 'timeout' },
    },
    {
      name: 'mute',
      standing: 'known',
      state: 'silent',
      age_s: null,
      circuit: 'closed',
      endpoint: null,
      announce: null,
    },
  ],
};

test('peers prints the state of each peer of the named profile', async (t) => {
  const stub = await profileStub(t, { '/fleet/peers': { body: PEERS } });
  const args = ['peers', '--dir', stub.dir, '--reach', `neo=${stub.url}`, '--profile', 'neo'];
  const { code, stdout } = await fleet(args);
  assert.equal(code, 0);
  assert.deepEqual(
    stdout.split('\n').map((line) => line.split(/ {2,}/)),
    [
      ['peer', 'standing', 'state', 'age', 'tier', 'model', 'load', 'circuit', 'MCP servers', 'address'],
      [
        'trinity',
        'configured',
        'live',
        '4.2 s',
        'haiku',
        'offline/runbook',
        '2/4 +3',
        'open',
        'filesystem ok, memory timeout',
        'http://trinity:9222/jsonrpc',
      ],
      [
        'worker',
        'joined',
        'stale, not ready',
        '120 s',
        'haiku',
        'offline/runbook, timeout',
        '2/4',
        'closed',
        'filesystem ok, memory timeout',
        'http://w:1/jsonrpc',
      ],
      ['mute', 'known', 'silent', '-', '-', '-', '-', 'closed', '-', '-'],
      [''],
    ],
  );
  assert.deepEqual(JSON.parse((await fleet([...args, '--json'])).stdout), PEERS);
});

test('peers says when a profile knows no peer', async (t) => {
  const stub = await profileStub(t, { '/fleet/peers': { body: { peers: [] } } });
  const { stdout } = await fleet(['peers', '--dir', stub.dir, '--reach', `switch=${stub.url}`]);
  assert.equal(stdout, 'switch knows no peer\n');
});

test('text from a peer cannot control the terminal and stays on its line', async (t) => {
  const model = 'm\u001b[2J\u009b1m\nneo  live\u202e';
  const peer = { ...PEERS.peers[0], name: 'a\rb', announce: { ...announce, model } };
  const stub = await profileStub(t, { '/fleet/peers': { body: { peers: [peer] } } });
  const args = ['peers', '--dir', stub.dir, '--reach', `switch=${stub.url}`];
  const { stdout } = await fleet(args);
  assert.equal(stdout.split('\n').length, 3);
  assert.match(stdout, /^a\ufffdb .* m\ufffd\[2J\ufffd1m\ufffdneo {2}live\ufffd /m);
  assert.deepEqual(JSON.parse((await fleet([...args, '--json'])).stdout).peers[0].announce.model, model);
});
