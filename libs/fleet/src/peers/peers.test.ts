import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openLedger } from '@hermes-fleet/ledger';
import { systemIds } from '@hermes-fleet/protocol';
import { announceOf, manualClock, silent } from '../testing/fakes.ts';
import { createPeers } from './peers.ts';
import { isLive } from './profile.ts';

function setUp(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), 'fleet-peers-'));
  const clock = manualClock();
  const open = () =>
    openLedger({ file: join(dir, 'l.db'), profile: 'switch', clock, ids: systemIds, log: silent });
  let ledger = open();
  t.after(async () => {
    await ledger.close();
    rmSync(dir, { recursive: true });
  });
  const configured = { neo: { url: 'http://127.0.0.1:9220/jsonrpc', token: 'x' } };
  const make = () => createPeers({ ledger, configured, clock, log: silent, self: 'switch' });
  return {
    clock,
    peers: make(),
    ledger,
    async restart() {
      await ledger.close();
      ledger = open();
      return make();
    },
  };
}

describe('peers', () => {
  const believed: [string, string, object, string][] = [
    ['the caller it names', 'neo', {}, 'recorded'],
    ['the shared caller, for a configured peer', 'peer', {}, 'recorded'],
    ['another caller', 'trinity', {}, 'refused'],
    ['its caller, at its configured address', 'neo', { endpoint: 'http://localhost:9220' }, 'recorded'],
    ['its caller, at another address', 'neo', { endpoint: 'http://evil:9220' }, 'refused'],
  ];
  for (const [from, caller, extra, outcome] of believed)
    it(`has an announce of neo ${outcome} that comes from ${from}`, async (t) => {
      const { peers } = setUp(t);
      assert.equal((await peers.record(announceOf('neo', extra), { name: caller })).outcome, outcome);
      assert.equal(peers.get('neo')?.announce !== undefined, outcome === 'recorded');
    });

  it('refuses an unknown agent from the shared caller, and itself from anybody', async (t) => {
    const { peers } = setUp(t);
    assert.equal((await peers.record(announceOf('ghost'), { name: 'peer' })).outcome, 'refused');
    assert.equal((await peers.record(announceOf('switch'), { name: 'switch' })).outcome, 'refused');
    assert.deepEqual(
      peers.list().map(({ name }) => name),
      ['neo'],
    );
  });

  it('knows a caller that is not configured, without an address to route to', async (t) => {
    const { peers } = setUp(t);
    await peers.record(announceOf('stranger'), { name: 'stranger' });
    assert.equal(peers.get('stranger')?.endpoint, undefined);
    assert.notEqual(peers.get('stranger')?.announce, undefined);
  });

  it('keeps the newest sequence of the greatest instance', async (t) => {
    const { peers } = setUp(t);
    const say = async (instanceId: string, seq: number) =>
      (await peers.record(announceOf('neo', { instanceId, seq }), { name: 'neo' })).outcome;
    assert.deepEqual(
      [
        await say('b', 2),
        await say('b', 1),
        await say('b', 2),
        await say('a', 9),
        await say('c', 1),
        await say('b', 3),
      ],
      ['recorded', 'ignored', 'ignored', 'ignored', 'recorded', 'ignored'],
    );
    assert.equal(peers.get('neo')?.announce?.instanceId, 'c');
  });

  it('hears a lesser instance again once the greater one has expired, but never an older sequence', async (t) => {
    const { peers, clock } = setUp(t);
    const say = async (instanceId: string, seq: number) =>
      (await peers.record(announceOf('neo', { instanceId, seq, ttlS: 60 }), { name: 'neo' })).outcome;
    assert.equal(await say('b', 5), 'recorded');
    clock.advance(61_000);
    assert.equal(await say('b', 4), 'ignored');
    assert.equal(await say('a', 1), 'recorded');
  });

  it('takes the later of two announces that say nothing of their age', async (t) => {
    const { peers } = setUp(t);
    const { seq: _seq, instanceId: _id, ...plain } = announceOf('neo');
    await peers.record(plain, { name: 'neo' });
    await peers.record({ ...plain, role: 'later' }, { name: 'neo' });
    assert.equal(peers.get('neo')?.announce?.role, 'later');
  });

  it('survives a restart, and is live only until the ttl has passed since it was received', async (t) => {
    const { peers, clock, restart } = setUp(t);
    await peers.record(announceOf('neo', { ttlS: 60 }), { name: 'neo' });
    clock.advance(59_000);
    const again = (await restart()).get('neo');
    assert.ok(again && isLive(again, clock.now()));
    clock.advance(2_000);
    assert.ok(!isLive(again, clock.now()));
  });

  it('opens the circuit after three failures, longer each time, and closes it at the next answer', (t) => {
    const { peers, clock } = setUp(t);
    const behaviour = peers.behaviour('neo');
    assert.ok(behaviour);
    const openFor = () => Math.max(0, behaviour.snapshot().circuitOpenUntil - clock.now());
    const seen = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(() => {
      behaviour.failed();
      return openFor();
    });
    assert.deepEqual(seen, [0, 0, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    behaviour.answered();
    assert.equal(openFor(), 0);
  });

  it('remembers load, refusals and latency', (t) => {
    const { peers } = setUp(t);
    const behaviour = peers.behaviour('neo');
    assert.ok(behaviour);
    const held = behaviour.occupied();
    behaviour.refused();
    behaviour.took(100);
    behaviour.took(200);
    const { inFlight, blockedRate, latencyMs } = behaviour.snapshot();
    assert.equal(inFlight, 1);
    assert.ok(blockedRate > 0.1 && blockedRate < 0.2);
    assert.equal(Math.round(latencyMs), 130);
    held[Symbol.dispose]();
    held[Symbol.dispose]();
    assert.equal(peers.get('neo')?.inFlight, 0);
  });
});
