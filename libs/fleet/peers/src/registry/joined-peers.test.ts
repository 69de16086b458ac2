import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfiguredPeer, JoinPolicy } from '@hermes-fleet/fleet-config';
import { announceOf, instanceOf } from '../../testing/index.ts';
import { AT, JOIN, joining, plain, testRegistry } from '../../testing/registry.ts';
import type { AnnounceSource } from './authorize-announce.ts';

describe('a joined worker', () => {
  const said = (seq: number, more: object = {}, name = 'tank') =>
    announceOf(name, { endpoint: AT, seq, ...more });

  it('gets messages at its address with the token for joined workers', async (t) => {
    const { peers } = testRegistry(t);
    await peers.record(said(1), joining());
    const tank = peers.get('tank');
    assert.equal(tank?.standing, 'joined');
    assert.deepEqual(tank?.endpoint, { name: 'tank', url: AT, token: 'for-workers-that-joined' });
    assert.deepEqual(peers.get('neo')?.endpoint, {
      name: 'neo',
      url: 'http://127.0.0.1:9220/jsonrpc',
      token: 'x',
    });
    assert.equal(peers.cardUrl('tank'), 'http://127.0.0.1:9230/.well-known/agent-card.json');
  });

  it('gets the token of a configured peer if it joined with the token from it, as a replica of it', async (t) => {
    const policy = { ...JOIN, callers: { ...JOIN.callers, neo: { joins: true, speaksFor: ['neo-*'] } } };
    const peers = await testRegistry(t).restart(policy);
    const { outcome } = await peers.record(said(1, {}, 'neo-2'), joining('neo'));
    assert.deepEqual(
      [outcome, peers.get('neo-2')?.endpoint],
      ['recorded', { name: 'neo-2', url: AT, token: 'x' }],
    );
  });

  it('keeps its address when another source announces a different one', async (t) => {
    const { peers } = testRegistry(t);
    await peers.record(said(1), joining());
    const elsewhere = { endpoint: 'http://127.0.0.1:9666/jsonrpc', instanceId: instanceOf(9) };
    for (const from of [{ name: 'tank' }, { name: 'ghost' }, joining('dozer'), plain('peer')])
      assert.equal((await peers.record(said(9, elsewhere), from)).outcome, 'refused');
    const evil = said(9, { endpoint: 'http://evil.example:9230', instanceId: instanceOf(9) });
    assert.equal((await peers.record(evil, joining())).outcome, 'refused');
    assert.equal(peers.get('tank')?.endpoint?.url, AT);
    assert.equal(peers.get('tank')?.announce?.seq, 1);
  });

  it('joins also if its announce came on NATS before', async (t) => {
    const { peers } = testRegistry(t);
    await peers.record(said(4), { name: 'tank' });
    assert.equal(peers.get('tank')?.standing, 'known');
    assert.equal((await peers.record(said(3), joining())).outcome, 'ignored');
    assert.equal((await peers.record(said(4), joining())).outcome, 'recorded');
    assert.equal(peers.get('tank')?.standing, 'joined');
    assert.equal((await peers.record(said(4), { name: 'tank' })).outcome, 'ignored');
    assert.equal((await peers.record(said(5), { name: 'tank' })).outcome, 'recorded');
    assert.equal(peers.get('tank')?.standing, 'joined');
  });

  it('becomes known when it announces no endpoint any more', async (t) => {
    const { peers } = testRegistry(t);
    await peers.record(said(1), joining());
    await peers.record(announceOf('tank', { seq: 2 }), joining());
    assert.deepEqual([peers.get('tank')?.standing, peers.get('tank')?.endpoint], ['known', undefined]);
  });

  it('makes the caller of its token a member, as a configured peer is; a shared secret is none', async (t) => {
    const { peers, restart } = testRegistry(t);
    assert.deepEqual(['neo', 'tank', 'operator'].map(peers.isMember), [true, false, false]);
    await peers.record(said(1, {}, 'worker-1'), joining());
    await peers.record(announceOf('operator', { seq: 1 }), plain('operator'));
    assert.deepEqual(['tank', 'operator', 'worker-1'].map(peers.isMember), [true, false, false]);
    const again = await restart(JOIN, { peer: { url: 'http://127.0.0.1:9300/jsonrpc' } });
    assert.deepEqual(['tank', 'peer', 'neo'].map(again.isMember), [true, false, false]);
  });

  it('owns its name until its announce expires', async (t) => {
    const { peers, clock } = testRegistry(t);
    const mine = (seq: number) => said(seq, { ttlS: 60 }, 'worker-1');
    await peers.record(mine(1), joining('tank'));
    assert.equal((await peers.record(mine(2), joining('dozer'))).outcome, 'refused');
    clock.advance(60_001);
    assert.equal((await peers.record(mine(2), joining('dozer'))).outcome, 'recorded');
    assert.equal((await peers.record(mine(3), joining('tank'))).outcome, 'refused');
  });

  const later: [what: string, join: JoinPolicy, standing: string][] = [
    ['as it was', JOIN, 'joined'],
    ['without its address', { ...JOIN, endpoints: ['http://127.0.0.1:9999'] }, 'known'],
    ['where nobody may join', { ...JOIN, endpoints: [] }, 'known'],
    ['without the scope', { ...JOIN, callers: { tank: { joins: false, speaksFor: [] } } }, 'known'],
    ['without its caller', { ...JOIN, callers: {} }, 'known'],
    ['with its address as our own', { ...JOIN, own: [AT] }, 'known'],
  ];
  for (const [what, join, standing] of later)
    it(`is ${standing} after a restart with a configuration ${what}`, async (t) => {
      const { peers, restart } = testRegistry(t);
      await peers.record(said(1), joining());
      const tank = (await restart(join)).get('tank');
      assert.equal(tank?.standing, standing);
      assert.equal(tank?.endpoint?.url, standing === 'joined' ? AT : undefined);
    });

  it('that is configured after a restart has the address in fleet.yaml', async (t) => {
    const { peers, restart } = testRegistry(t);
    await peers.record(said(1), joining());
    const elsewhere = { url: 'http://127.0.0.1:9240/jsonrpc', token: 'y' };
    const tank = (await restart(JOIN, { tank: elsewhere })).get('tank');
    assert.deepEqual(
      [tank?.standing, tank?.endpoint?.url, tank?.announce],
      ['configured', elsewhere.url, undefined],
    );
  });
});

describe('an announce from before the peer was configured', () => {
  const speaking: JoinPolicy = {
    ...JOIN,
    callers: {
      dozer: { joins: false, speaksFor: ['truck'] },
      tank: { joins: true, speaksFor: ['truck'] },
    },
  };
  const truck = { url: 'http://127.0.0.1:9250/jsonrpc', token: 'z' };
  const lie = { instanceId: instanceOf(15), ttlS: 80_000 };
  const said: [what: string, from: AnnounceSource, believed: boolean, extra?: object][] = [
    ['a caller that could speak for it', plain('dozer'), false],
    ['a caller that joined in its name', joining('tank'), false, { endpoint: truck.url }],
    ['itself, by its token', plain('truck'), true],
    ['the shared token', plain('peer'), true],
    ['itself, on NATS', { name: 'truck' }, true],
  ];
  for (const [what, from, believed, extra = {}] of said)
    it(`is ${believed ? 'restored' : 'dropped'} if it came from ${what}`, async (t) => {
      const { restart } = testRegistry(t);
      const start: Record<string, ConfiguredPeer> = from.name === 'peer' ? { truck } : {};
      const before = await restart(speaking, start);
      assert.equal(
        (await before.record(announceOf('truck', { ...lie, ...extra }), from)).outcome,
        'recorded',
      );
      const after = await restart(speaking, { truck });
      assert.equal(after.get('truck')?.standing, 'configured');
      assert.equal(after.get('truck')?.announce !== undefined, believed);
      const own = announceOf('truck', { instanceId: instanceOf(1) });
      const heard = await after.record(own, { name: 'truck' });
      assert.equal(heard.outcome, believed ? 'ignored' : 'recorded');
    });
});
