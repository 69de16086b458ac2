import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { announceOf, instanceOf } from '../../testing/index.ts';
import { testRegistry } from '../../testing/registry.ts';
import { isProsePeer } from '../peer-profile.ts';
import { createPeerRegistry } from './peer-registry.ts';

describe('an announce notifies listeners', () => {
  const cases: [what: string, change: object, woken: number][] = [
    ['a heartbeat', {}, 0],
    ['another context and time', { session: { contextId: 'x' }, sentAt: '2026-05-31T20:00:00Z' }, 0],
    ['a field that nobody knows', { uptime: 1 }, 0],
    ['health', { mcpHealth: { memory: 'timeout' } }, 1],
    ['health of the model', { modelHealth: 'error' }, 1],
    ['tools', { capabilities: { tools: [] } }, 1],
    ['a dirty tree', { session: { repoState: { branch: 'main', clean: false } } }, 1],
    ['load', { session: { activeTasks: 2 } }, 1],
    ['a full queue', { limits: { maxConcurrentTasks: 4, queueDepth: 100, queuedTasks: 100 } }, 1],
    ['a farewell', { ready: false }, 1],
    ['another model', { worker: { model: 'other' } }, 1],
    ['a new start', { instanceId: instanceOf(2) }, 1],
    ['other versions', { protocolVersions: ['2.1'] }, 1],
  ];
  for (const [what, change, wakes] of cases)
    it(`${wakes === 0 ? 'never' : 'once'} for ${what}`, async (t) => {
      const { peers, woken } = testRegistry(t);
      await peers.record(announceOf('neo', { seq: 1 }), { name: 'neo' });
      assert.equal(woken(), 1);
      const next = announceOf('neo', { ...change, seq: 2 });
      assert.equal((await peers.record(next, { name: 'neo' })).outcome, 'recorded');
      assert.equal(woken(), wakes);
    });

  it('when a stale peer or a peer with an open circuit announces again', async (t) => {
    const { peers, clock, woken } = testRegistry(t);
    const say = (seq: number) => peers.record(announceOf('neo', { seq, ttlS: 60 }), { name: 'neo' });
    await say(1);
    clock.advance(61_000);
    woken();
    await say(2);
    assert.equal(woken(), 1);
    for (let i = 0; i < 3; i += 1) peers.health('neo')?.recordFailure();
    woken();
    await say(3);
    assert.equal(woken(), 1);
    await say(4);
    assert.equal(woken(), 0);
  });

  it('in spite of another listener that throws', async (t) => {
    const { peers, woken } = testRegistry(t);
    const first = peers.onChange(() => assert.fail('broken'));
    peers.onChange(() => assert.fail('broken too'));
    assert.equal((await peers.record(announceOf('neo'), { name: 'neo' })).outcome, 'recorded');
    first[Symbol.dispose]();
    assert.equal(woken(), 1);
  });
});

describe('the agent card of a peer', () => {
  it('makes the peer a prose peer for 90 s, and notifies listeners only of changes', (t) => {
    const { peers, clock, woken } = testRegistry(t);
    const prose = () => isProsePeer(peers.get('neo') ?? assert.fail(), clock.now());
    assert.equal(prose(), false);
    const note = (handshake: boolean, versions: string[] = []) =>
      peers.recordCard('neo', { handshake, versions });
    note(false);
    assert.deepEqual([prose(), woken()], [true, 1]);
    clock.advance(30_000);
    note(false);
    assert.equal(woken(), 0);
    clock.advance(90_001);
    assert.equal(prose(), false);
    note(false);
    assert.deepEqual([prose(), woken()], [true, 1]);
    note(true, ['2.0']);
    assert.deepEqual([prose(), woken()], [false, 1]);
    note(true, ['2.0', '2.1']);
    assert.equal(woken(), 1);
    peers.recordCard('nobody', { handshake: true, versions: [] });
    assert.equal(woken(), 0);
  });

  it('has no effect while the announce is live', async (t) => {
    const { peers, clock } = testRegistry(t);
    peers.recordCard('neo', { handshake: false, versions: [] });
    await peers.record(announceOf('neo', { ttlS: 60 }), { name: 'neo' });
    const prose = () => isProsePeer(peers.get('neo') ?? assert.fail(), clock.now());
    assert.equal(prose(), false);
    clock.advance(60_001);
    assert.equal(prose(), true);
  });

  it('is at the URL in fleet.yaml, else at the well-known URL', async (t) => {
    const { ledger, clock } = testRegistry(t);
    const url = 'http://127.0.0.1:9220/a2a/jsonrpc';
    const configured = { a: { url }, b: { url, cardUrl: 'http://cards/b.json' } };
    const peers = createPeerRegistry({ ledger, configured, clock, log: silentLog, self: 'switch' });
    assert.equal(peers.cardUrl('a'), 'http://127.0.0.1:9220/a2a/.well-known/agent-card.json');
    assert.equal(peers.cardUrl('b'), 'http://cards/b.json');
    assert.equal(peers.cardUrl('c'), undefined);
  });
});
