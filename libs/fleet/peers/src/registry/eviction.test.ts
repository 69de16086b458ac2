import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeAnnounce } from '@hermes-fleet/protocol/handshake';
import { manualClock, silentLog } from '@hermes-fleet/protocol/testing';
import { announceOf, NOW } from '../../testing/index.ts';
import { AT, JOIN, joining, plain, testRegistry } from '../../testing/registry.ts';
import { MAX_UNCONFIGURED } from './eviction.ts';
import { createPeerRegistry } from './peer-registry.ts';

describe('the limit of unconfigured peers', () => {
  it('evicts the stalest peer first, joined peers and peers with tasks last', async () => {
    const rows = new Map<string, object>();
    const clock = manualClock(NOW);
    const peers = createPeerRegistry({
      ledger: {
        peers: () => [],
        savePeer: async (row) => void rows.set(row.agentId, row),
        forgetPeer: async (name) => void rows.delete(name),
      },
      configured: { neo: { url: 'http://127.0.0.1:9220/jsonrpc' } },
      join: JOIN,
      clock,
      log: silentLog,
      self: 'switch',
    });
    const count = () => peers.list().filter(({ standing }) => standing !== 'configured').length;
    await peers.record(announceOf('neo', { ttlS: 1 }), { name: 'neo' });
    await peers.record(announceOf('tank', { endpoint: AT, ttlS: 9_000 }), joining());
    await peers.record(announceOf('busy', { ttlS: 1 }), plain('busy'));
    peers.health('busy')?.trackTask();
    await peers.record(announceOf('brief', { ttlS: 1 }), plain('brief'));
    for (let i = 3; i < MAX_UNCONFIGURED; i += 1) {
      clock.advance(1);
      await peers.record(announceOf(`p${i}`, { ttlS: 9_000 }), plain(`p${i}`));
    }
    assert.equal(count(), MAX_UNCONFIGURED);
    clock.advance(2_000);
    await peers.record(announceOf('one-more'), plain('one-more'));
    assert.deepEqual([count(), peers.get('brief'), rows.has('brief')], [MAX_UNCONFIGURED, undefined, false]);
    await peers.record(announceOf('two-more'), plain('two-more'));
    assert.equal(peers.get('p3'), undefined);
    for (const kept of ['neo', 'tank', 'busy', 'one-more', 'two-more']) assert.ok(peers.get(kept), kept);
    assert.equal(count(), MAX_UNCONFIGURED);
    assert.equal(rows.size, MAX_UNCONFIGURED + 1);
  });

  it('refuses a new peer if all others have precedence', async () => {
    const clock = manualClock(NOW);
    const peers = createPeerRegistry({
      ledger: { peers: () => [], savePeer: async () => undefined, forgetPeer: async () => undefined },
      configured: {},
      join: JOIN,
      clock,
      log: silentLog,
      self: 'switch',
    });
    for (let i = 0; i < MAX_UNCONFIGURED; i += 1) {
      const endpoint = `http://127.0.0.1:${10_000 + i}/jsonrpc`;
      await peers.record(announceOf(`worker-${i}`, { endpoint, ttlS: 9_000 }), joining());
    }
    const stranger = await peers.record(announceOf('stranger'), plain('stranger'));
    assert.match(stranger.outcome === 'refused' ? stranger.reason : '', /all of them have precedence/);
    assert.deepEqual([peers.list().length, peers.get('stranger')], [MAX_UNCONFIGURED, undefined]);
  });

  it('also applies to the length of an announce', async (t) => {
    const { peers } = testRegistry(t);
    const long: object = { junk: 'x'.repeat(70_000) };
    for (const [name, from] of [
      ['stranger', plain('stranger')],
      ['tank', joining()],
    ] as const) {
      const said = announceOf(name, { endpoint: AT, ...long });
      const recorded = await peers.record(said, from);
      assert.match(recorded.outcome === 'refused' ? recorded.reason : '', /longer than/);
      assert.equal(peers.get(name), undefined);
    }
    assert.equal((await peers.record(announceOf('neo', long), { name: 'neo' })).outcome, 'recorded');
  });

  it('applies at a start: the stalest rows are removed', () => {
    const rows = Array.from({ length: MAX_UNCONFIGURED + 3 }, (_, i) => ({
      agentId: `p${i}`,
      announce: encodeAnnounce(announceOf(`p${i}`)),
      receivedAt: 10_000 - i,
    }));
    const forgotten: string[] = [];
    const peers = createPeerRegistry({
      ledger: {
        peers: () => rows,
        savePeer: async () => undefined,
        forgetPeer: async (name) => void forgotten.push(name),
      },
      configured: {},
      clock: manualClock(NOW),
      log: silentLog,
      self: 'switch',
    });
    assert.equal(peers.list().length, MAX_UNCONFIGURED);
    assert.deepEqual(forgotten, ['p1000', 'p1001', 'p1002']);
  });

  it('is independent of rows that cannot be read or have our own name, which are skipped', (t) => {
    const { clock } = testRegistry(t);
    const warned: string[] = [];
    const announce = encodeAnnounce(announceOf('switch'));
    const peers = createPeerRegistry({
      ledger: {
        peers: () => [
          { agentId: 'neo', announce: { type: 'SESSION_ANNOUNCE' }, receivedAt: 1 },
          { agentId: 'switch', announce, receivedAt: 1 },
        ],
        savePeer: async () => undefined,
        forgetPeer: async () => undefined,
      },
      configured: {},
      clock,
      self: 'switch',
      log: { ...silentLog, warn: (_fields, message) => void warned.push(message) },
    });
    assert.deepEqual(peers.list(), []);
    assert.deepEqual(warned, [
      'stored announce is not readable: waiting for a new one',
      'stored announce is not authorized any more',
    ]);
  });
});
