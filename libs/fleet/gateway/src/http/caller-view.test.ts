import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { announcing, NOW, peerOf } from '@hermes-fleet/peers/testing';
import type { Caller } from '@hermes-fleet/protocol/ports';
import { type CallerViewOptions, callerView } from './caller-view.ts';

const config = FleetConfigSchema.parse({ fleet: { server: { bind_port: 1, auth_required: false } } });
const caller = (...scopes: string[]): Caller => ({ name: 'ops', scopes: new Set(scopes) });

function options(peers = [peerOf('old', { receivedAt: NOW - 90_001 })]): CallerViewOptions {
  const own = { limit: 1_000, spent: 300, reserved: 200 };
  return {
    peers: { list: () => peers },
    gateway: {
      spending: {
        view: () => ({
          day: '2026-01-01',
          endsAt: '2026-01-02T00:00:00Z',
          taskTree: 5_000,
          profile: { limit: 9_999, spent: 0, reserved: 0 },
          callers: new Map([
            ['ops', own],
            ['other', { ...own, limit: 7_777 }],
          ]),
        }),
      },
    },
    clock: { now: () => NOW },
    limits: config.fleet.limits,
    bodyLimitBytes: 4_096,
  };
}

const FOR_ALL = { body_bytes: 4_096, streams: 256, concurrent_tasks: 4, queue_depth: 100 };

test('a caller without the scope read sees its limits, and neither spending nor peers', () => {
  assert.deepEqual(callerView(caller('dispatch', 'announce'), options()), { limits: FOR_ALL });
});

test('a caller with the scope read sees its own ceiling and the peers, but no address and no token', () => {
  const endpoint = { name: 'neo', url: 'http://neo.internal:9220/jsonrpc', token: 'secret-of-the-peer' };
  const purpose = 'p'.repeat(2_000);
  const view = callerView(
    caller('read'),
    options([announcing('neo', { purpose }, { endpoint }), peerOf('old', { receivedAt: NOW - 90_001 })]),
  );
  const spending = { tokens_per_task_tree: 5_000, tokens_per_day: 1_000, tokens_left_today: 500 };
  assert.deepEqual(view.limits, { ...FOR_ALL, ...spending });
  const shown = (view.peers as Record<string, unknown>[]).map(({ name, state }) => [name, state]);
  assert.deepEqual(shown, [
    ['neo', 'live'],
    ['old', 'stale'],
  ]);
  const [neo] = view.peers as Record<string, unknown>[];
  assert.deepEqual(Object.keys(neo ?? {}).sort(), ['model_tier', 'name', 'purpose', 'role', 'state']);
  const text = JSON.stringify(view);
  for (const hidden of ['internal', 'secret', '7777', '9999', 'p'.repeat(301)])
    assert.ok(!text.includes(hidden), hidden);
});

test('a card lists 50 peers at most and counts the rest', () => {
  const many = Array.from({ length: 60 }, (_, index) => peerOf(`peer-${index}`));
  const { peers, peers_not_shown } = callerView(caller('read'), options(many));
  assert.deepEqual([(peers as unknown[]).length, peers_not_shown], [50, 10]);
});
