import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { manualClock, silentLog } from '@hermes-fleet/protocol/testing';
import { announceOf, instanceOf, NOW } from '../../testing/index.ts';
import { AT, plain, testRegistry } from '../../testing/registry.ts';
import { capacityOf } from '../capacity.ts';
import { isLive } from '../peer-profile.ts';
import { createPeerRegistry } from './peer-registry.ts';

describe('the peer registry', () => {
  const believed: [string, string, object, string][] = [
    ['the caller it names', 'neo', {}, 'recorded'],
    ['another caller', 'trinity', {}, 'refused'],
    ['its caller, at its configured address', 'neo', { endpoint: 'http://localhost:9220' }, 'recorded'],
    ['its caller, at another address', 'neo', { endpoint: 'http://evil:9220' }, 'refused'],
  ];
  for (const [from, caller, extra, outcome] of believed)
    it(`has an announce of neo ${outcome} if it comes from ${from}`, async (t) => {
      const { peers } = testRegistry(t);
      assert.equal((await peers.record(announceOf('neo', extra), { name: caller })).outcome, outcome);
      assert.equal(peers.get('neo')?.announce !== undefined, outcome === 'recorded');
    });

  it('refuses an unknown agent from the shared caller, and itself from anybody', async (t) => {
    const { peers } = testRegistry(t);
    assert.equal((await peers.record(announceOf('neo'), plain('peer'))).outcome, 'recorded');
    assert.equal((await peers.record(announceOf('ghost'), plain('peer'))).outcome, 'refused');
    assert.equal((await peers.record(announceOf('switch'), plain('switch'))).outcome, 'refused');
    assert.deepEqual(
      peers.list().map(({ name }) => name),
      ['neo'],
    );
  });

  it('records a caller that is not configured as known, without an address', async (t) => {
    const { peers } = testRegistry(t);
    await peers.record(announceOf('stranger', { endpoint: AT }), plain('stranger'));
    assert.equal(peers.get('stranger')?.endpoint, undefined);
    assert.equal(peers.get('stranger')?.standing, 'known');
    assert.notEqual(peers.get('stranger')?.announce, undefined);
  });

  it('keeps the newest sequence of the greatest instance', async (t) => {
    const { peers } = testRegistry(t);
    const say = async (instance: number, seq: number) =>
      (await peers.record(announceOf('neo', { instanceId: instanceOf(instance), seq }), { name: 'neo' }))
        .outcome;
    assert.deepEqual(
      [await say(2, 2), await say(2, 1), await say(2, 2), await say(1, 9), await say(3, 1), await say(2, 3)],
      ['recorded', 'ignored', 'ignored', 'ignored', 'recorded', 'ignored'],
    );
    assert.equal(peers.get('neo')?.announce?.instanceId, instanceOf(3));
  });

  it('does not tell instances apart by the case of their letters', async (t) => {
    const { peers } = testRegistry(t);
    const say = async (instanceId: string, seq: number) =>
      (await peers.record(announceOf('neo', { instanceId, seq }), { name: 'neo' })).outcome;
    assert.equal(await say(instanceOf(0xb), 5), 'recorded');
    assert.equal(await say(instanceOf(0xb).toUpperCase(), 4), 'ignored');
    assert.equal(await say(instanceOf(0xc).toUpperCase(), 1), 'recorded');
  });

  it('does not let an instance from the future keep out the worker itself', async (t) => {
    const { peers } = testRegistry(t);
    const say = async (at: number, seq: number) =>
      (await peers.record(announceOf('neo', { instanceId: instanceOf(1, at), seq }), { name: 'neo' }))
        .outcome;
    const skewed = NOW + 5 * 60_000;
    assert.equal(await say(skewed, 1), 'recorded');
    assert.equal(await say(NOW, 9), 'ignored', 'a clock may be a little ahead');
    assert.equal(await say(skewed + 1, 1), 'recorded');
    assert.equal(await say(skewed + 1, 1), 'ignored', 'seq counts within the instance');
    assert.equal(await say(NOW, 1), 'recorded', 'the later arrival wins');
    assert.equal(await say(Date.parse('9999-01-01'), 1), 'recorded');
    assert.equal(await say(NOW, 2), 'recorded');
  });

  it('accepts a smaller instance after the greater one has expired, but never an older seq', async (t) => {
    const { peers, clock } = testRegistry(t);
    const say = async (instance: number, seq: number) => {
      const said = announceOf('neo', { instanceId: instanceOf(instance), seq, ttlS: 60 });
      return (await peers.record(said, { name: 'neo' })).outcome;
    };
    assert.equal(await say(2, 5), 'recorded');
    clock.advance(61_000);
    assert.equal(await say(2, 4), 'ignored');
    assert.equal(await say(1, 1), 'recorded');
  });

  it('records the later of two announces without instance and seq', async (t) => {
    const { peers } = testRegistry(t);
    const { seq: _seq, instanceId: _id, ...plain } = announceOf('neo');
    await peers.record(plain, { name: 'neo' });
    await peers.record({ ...plain, role: 'later' }, { name: 'neo' });
    assert.equal(peers.get('neo')?.announce?.role, 'later');
  });

  it('records every announce of an instance without seq', async (t) => {
    const { peers } = testRegistry(t);
    const { seq: _seq, ...uncounted } = announceOf('neo');
    for (const role of ['first', 'second', 'third']) {
      assert.equal((await peers.record({ ...uncounted, role }, { name: 'neo' })).outcome, 'recorded');
      assert.equal(peers.get('neo')?.announce?.role, role);
    }
    await peers.record(announceOf('neo', { seq: 9 }), { name: 'neo' });
    assert.equal((await peers.record(uncounted, { name: 'neo' })).outcome, 'recorded');
  });

  it('expires an announce after a day at the latest, and after our clock was set back', async (t) => {
    const { peers, clock } = testRegistry(t);
    const live = () => isLive(peers.get('neo') ?? assert.fail(), clock.now());
    await peers.record(announceOf('neo', { ttlS: 1e300 }), { name: 'neo' });
    clock.advance(86_400_000);
    assert.ok(live());
    clock.advance(1);
    assert.ok(!live());
    await peers.record(announceOf('neo', { seq: 2, ttlS: 60 }), { name: 'neo' });
    clock.advance(-5_000);
    assert.ok(live(), 'a small correction changes nothing');
    clock.advance(-3_600_000);
    assert.ok(!live());
    await peers.record(announceOf('neo', { seq: 3, ttlS: 60 }), { name: 'neo' });
    assert.ok(live());
  });

  it('uses an announce that cannot be written in this process, and notifies listeners', async () => {
    const clock = manualClock(NOW);
    const full = async (): Promise<never> => {
      throw new FleetError('STORE_UNAVAILABLE', 'disk full');
    };
    const peers = createPeerRegistry({
      ledger: { peers: () => [], savePeer: full, forgetPeer: full },
      configured: { neo: { url: 'http://127.0.0.1:9220/jsonrpc' } },
      clock,
      log: silentLog,
      self: 'switch',
    });
    let woken = 0;
    peers.onChange(() => {
      woken += 1;
    });
    await assert.rejects(peers.record(announceOf('neo'), { name: 'neo' }), { code: 'STORE_UNAVAILABLE' });
    assert.equal(peers.get('neo')?.announce?.seq, 1);
    assert.equal(woken, 1);
  });

  it('restores announces after a restart, which stay live until their TTL has passed', async (t) => {
    const { peers, clock, restart } = testRegistry(t);
    await peers.record(announceOf('neo', { ttlS: 60 }), { name: 'neo' });
    clock.advance(59_000);
    const again = (await restart()).get('neo');
    assert.ok(again && isLive(again, clock.now()));
    clock.advance(2_000);
    assert.ok(!isLive(again, clock.now()));
  });

  it('opens the circuit after three failures, for longer each time, until the next answer', (t) => {
    const { peers, clock } = testRegistry(t);
    const health = peers.health('neo');
    assert.ok(health);
    const openFor = () => Math.max(0, health.snapshot().circuitOpenUntil - clock.now());
    const seen = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(() => {
      health.recordFailure();
      return openFor();
    });
    assert.deepEqual(seen, [0, 0, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    health.recordAnswer();
    assert.equal(openFor(), 0);
  });

  it('gives a peer that announces no limits the slots that fleet.yaml says, else four', async (t) => {
    const { restart, clock } = testRegistry(t);
    for (const maxTasks of [undefined, 2]) {
      const url = 'http://127.0.0.1:9220/jsonrpc';
      const peers = await restart(undefined, {
        neo: { url, ...(maxTasks === undefined ? {} : { maxTasks }) },
      });
      const { limits: _usual, ...announce } = announceOf('neo');
      await peers.record(announce, { name: 'neo' });
      const peer = peers.get('neo') ?? assert.fail();
      assert.equal(capacityOf(peer, clock.now()).limit, maxTasks ?? 4);
    }
  });

  it('tracks load, refusals and latency', (t) => {
    const { peers } = testRegistry(t);
    const health = peers.health('neo');
    assert.ok(health);
    const held = health.trackTask();
    health.recordRefused();
    health.recordAccepted(100);
    health.recordAccepted(200);
    const { inFlight, blockedRate, latencyMs } = health.snapshot();
    assert.equal(inFlight, 1);
    assert.ok(blockedRate > 0.1 && blockedRate < 0.2);
    assert.equal(Math.round(latencyMs), 130);
    held[Symbol.dispose]();
    held[Symbol.dispose]();
    assert.equal(peers.get('neo')?.inFlight, 0);
  });
});
