import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { announceOf, manualClock, silent } from '@hermes-fleet/fleet/testing';
import type { ConfiguredPeer, JoinPolicy } from '@hermes-fleet/fleet-config';
import { openLedger } from '@hermes-fleet/ledger';
import { encodeAnnounce, FleetError, systemIds } from '@hermes-fleet/protocol';
import { isLive, isProsePeer } from '../peer-profile.ts';
import type { AnnounceSource } from './authorize-announce.ts';
import { createPeerRegistry, MAX_UNCONFIGURED } from './peer-registry.ts';

const JOIN: JoinPolicy = {
  callers: {
    tank: { joins: true, speaksFor: ['worker-*'] },
    dozer: { joins: true, speaksFor: ['worker-*'] },
  },
  endpoints: ['http://127.0.0.1:*'],
  token: 'for-workers-that-joined',
  own: ['http://127.0.0.1:9219/jsonrpc'],
};
const AT = 'http://127.0.0.1:9230/jsonrpc';
const joining = (caller = 'tank') => ({ name: caller, scopes: new Set(['announce', 'join']) });
const plain = (name: string) => ({ name, scopes: new Set(['announce']) });

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
  const configured: Record<string, ConfiguredPeer> = {
    neo: { url: 'http://127.0.0.1:9220/jsonrpc', token: 'x' },
  };
  const make = (join = JOIN, others = configured) =>
    createPeerRegistry({ ledger, configured: others, join, clock, log: silent, self: 'switch' });
  const peers = make();
  let wakes = 0;
  peers.onChange(() => {
    wakes += 1;
  });
  return {
    clock,
    peers,
    ledger,
    /** How often somebody was woken since this was asked last. */
    woken() {
      const count = wakes;
      wakes = 0;
      return count;
    },
    async restart(join = JOIN, others = configured) {
      await ledger.close();
      ledger = open();
      return make(join, others);
    },
  };
}

describe('peers', () => {
  const believed: [string, string, object, string][] = [
    ['the caller it names', 'neo', {}, 'recorded'],
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
    assert.equal((await peers.record(announceOf('neo'), plain('peer'))).outcome, 'recorded');
    assert.equal((await peers.record(announceOf('ghost'), plain('peer'))).outcome, 'refused');
    assert.equal((await peers.record(announceOf('switch'), plain('switch'))).outcome, 'refused');
    assert.deepEqual(
      peers.list().map(({ name }) => name),
      ['neo'],
    );
  });

  it('knows a caller that is not configured, without an address to route to', async (t) => {
    const { peers } = setUp(t);
    await peers.record(announceOf('stranger', { endpoint: AT }), plain('stranger'));
    assert.equal(peers.get('stranger')?.endpoint, undefined);
    assert.equal(peers.get('stranger')?.standing, 'known');
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

  it('hears an instance that counts nothing, or that stopped counting, as often as it speaks', async (t) => {
    const { peers } = setUp(t);
    const { seq: _seq, ...uncounted } = announceOf('neo');
    for (const role of ['first', 'second', 'third']) {
      assert.equal((await peers.record({ ...uncounted, role }, { name: 'neo' })).outcome, 'recorded');
      assert.equal(peers.get('neo')?.announce?.role, role);
    }
    await peers.record(announceOf('neo', { seq: 9 }), { name: 'neo' });
    assert.equal((await peers.record(uncounted, { name: 'neo' })).outcome, 'recorded');
  });

  it('is not trusted longer than a day, nor because our clock was set back', async (t) => {
    const { peers, clock } = setUp(t);
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

  it('counts for this process when it cannot be written, and wakes who waits', async () => {
    const clock = manualClock();
    const full = async (): Promise<never> => {
      throw new FleetError('STORE_UNAVAILABLE', 'disk full');
    };
    const peers = createPeerRegistry({
      ledger: { peers: () => [], savePeer: full, forgetPeer: full },
      configured: { neo: { url: 'http://127.0.0.1:9220/jsonrpc' } },
      clock,
      log: silent,
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

  it('remembers load, refusals and latency', (t) => {
    const { peers } = setUp(t);
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

describe('a worker that joins', () => {
  const said = (seq: number, more: object = {}, name = 'tank') =>
    announceOf(name, { endpoint: AT, seq, ...more });

  it('is spoken to at the address that it joined with, by the token for such workers', async (t) => {
    const { peers } = setUp(t);
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

  it('stays where it is when somebody says otherwise', async (t) => {
    const { peers } = setUp(t);
    await peers.record(said(1), joining());
    const elsewhere = { endpoint: 'http://127.0.0.1:9666/jsonrpc', instanceId: '9999' };
    for (const from of [{ name: 'tank' }, { name: 'ghost' }, joining('dozer'), plain('peer')])
      assert.equal((await peers.record(said(9, elsewhere), from)).outcome, 'refused');
    const evil = said(9, { endpoint: 'http://evil.example:9230', instanceId: '9999' });
    assert.equal((await peers.record(evil, joining())).outcome, 'refused');
    assert.equal(peers.get('tank')?.endpoint?.url, AT);
    assert.equal(peers.get('tank')?.announce?.seq, 1);
  });

  it('gets its place also when its announce was heard on NATS before', async (t) => {
    const { peers } = setUp(t);
    await peers.record(said(4), { name: 'tank' });
    assert.equal(peers.get('tank')?.standing, 'known');
    assert.equal((await peers.record(said(3), joining())).outcome, 'ignored');
    assert.equal((await peers.record(said(4), joining())).outcome, 'recorded');
    assert.equal(peers.get('tank')?.standing, 'joined');
    assert.equal((await peers.record(said(4), { name: 'tank' })).outcome, 'ignored');
    assert.equal((await peers.record(said(5), { name: 'tank' })).outcome, 'recorded');
    assert.equal(peers.get('tank')?.standing, 'joined');
  });

  it('loses its place when it says no longer where it is', async (t) => {
    const { peers } = setUp(t);
    await peers.record(said(1), joining());
    await peers.record(announceOf('tank', { seq: 2 }), joining());
    assert.deepEqual([peers.get('tank')?.standing, peers.get('tank')?.endpoint], ['known', undefined]);
  });

  it('owns its name until it has gone silent', async (t) => {
    const { peers, clock } = setUp(t);
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
      const { peers, restart } = setUp(t);
      await peers.record(said(1), joining());
      const tank = (await restart(join)).get('tank');
      assert.equal(tank?.standing, standing);
      assert.equal(tank?.endpoint?.url, standing === 'joined' ? AT : undefined);
    });

  it('that is configured by then is held to what fleet.yaml says', async (t) => {
    const { peers, restart } = setUp(t);
    await peers.record(said(1), joining());
    const elsewhere = { url: 'http://127.0.0.1:9240/jsonrpc', token: 'y' };
    const tank = (await restart(JOIN, { tank: elsewhere })).get('tank');
    assert.deepEqual(
      [tank?.standing, tank?.endpoint?.url, tank?.announce],
      ['configured', elsewhere.url, undefined],
    );
  });
});

describe('what another has said of a peer before it was configured', () => {
  const speaking: JoinPolicy = {
    ...JOIN,
    callers: {
      dozer: { joins: false, speaksFor: ['truck'] },
      tank: { joins: true, speaksFor: ['truck'] },
    },
  };
  const truck = { url: 'http://127.0.0.1:9250/jsonrpc', token: 'z' };
  const lie = { instanceId: 'ffff', ttlS: 80_000 };
  const said: [what: string, from: AnnounceSource, believed: boolean, extra?: object][] = [
    ['a caller that could speak for it', plain('dozer'), false],
    ['a caller that joined in its name', joining('tank'), false, { endpoint: truck.url }],
    ['itself, by its token', plain('truck'), true],
    ['the shared token', plain('peer'), true],
    ['itself, on NATS', { name: 'truck' }, true],
  ];
  for (const [what, from, believed, extra = {}] of said)
    it(`is ${believed ? '' : 'not '}believed of ${what}`, async (t) => {
      const { restart } = setUp(t);
      const start: Record<string, ConfiguredPeer> = from.name === 'peer' ? { truck } : {};
      const before = await restart(speaking, start);
      assert.equal(
        (await before.record(announceOf('truck', { ...lie, ...extra }), from)).outcome,
        'recorded',
      );
      const after = await restart(speaking, { truck });
      assert.equal(after.get('truck')?.standing, 'configured');
      assert.equal(after.get('truck')?.announce !== undefined, believed);
      const own = announceOf('truck', { instanceId: '0190-1' });
      const heard = await after.record(own, { name: 'truck' });
      assert.equal(heard.outcome, believed ? 'ignored' : 'recorded');
    });
});

describe('who is woken by an announce', () => {
  const cases: [what: string, change: object, woken: number][] = [
    ['a heartbeat', {}, 0],
    ['another context and time', { session: { contextId: 'x' }, sentAt: '2026-05-31T20:00:00Z' }, 0],
    ['a field that nobody knows', { uptime: 1 }, 0],
    ['health', { mcpHealth: { memory: 'timeout' } }, 1],
    ['tools', { capabilities: { tools: [] } }, 1],
    ['a dirty tree', { session: { repoState: { branch: 'main', clean: false } } }, 1],
    ['load', { session: { activeTasks: 2 } }, 1],
    ['a full queue', { limits: { maxConcurrentTasks: 4, queueDepth: 100, queuedTasks: 100 } }, 1],
    ['a farewell', { ready: false }, 1],
    ['another model', { worker: { model: 'other' } }, 1],
    ['a new start', { instanceId: '0190-2' }, 1],
    ['other versions', { protocolVersions: ['2.1'] }, 1],
  ];
  for (const [what, change, wakes] of cases)
    it(`with ${what}: ${wakes === 0 ? 'nobody' : 'everybody'}`, async (t) => {
      const { peers, woken } = setUp(t);
      await peers.record(announceOf('neo', { seq: 1 }), { name: 'neo' });
      assert.equal(woken(), 1);
      const next = announceOf('neo', { ...change, seq: 2 });
      assert.equal((await peers.record(next, { name: 'neo' })).outcome, 'recorded');
      assert.equal(woken(), wakes);
    });

  it('everybody, when a peer that was stale is heard again, or one that kept failing', async (t) => {
    const { peers, clock, woken } = setUp(t);
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

  it('a listener that throws keeps nothing from the others', async (t) => {
    const { peers, woken } = setUp(t);
    const first = peers.onChange(() => assert.fail('broken'));
    peers.onChange(() => assert.fail('broken too'));
    assert.equal((await peers.record(announceOf('neo'), { name: 'neo' })).outcome, 'recorded');
    first[Symbol.dispose]();
    assert.equal(woken(), 1);
  });
});

describe('the agent card of a peer', () => {
  it('says whether it is spoken to in prose, for 90 s, and wakes only with news', (t) => {
    const { peers, clock, woken } = setUp(t);
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

  it('is not asked while its announce is live', async (t) => {
    const { peers, clock } = setUp(t);
    peers.recordCard('neo', { handshake: false, versions: [] });
    await peers.record(announceOf('neo', { ttlS: 60 }), { name: 'neo' });
    const prose = () => isProsePeer(peers.get('neo') ?? assert.fail(), clock.now());
    assert.equal(prose(), false);
    clock.advance(60_001);
    assert.equal(prose(), true);
  });

  it('is where fleet.yaml says, else at the well-known place', async (t) => {
    const { ledger, clock } = setUp(t);
    const url = 'http://127.0.0.1:9220/a2a/jsonrpc';
    const configured = { a: { url }, b: { url, cardUrl: 'http://cards/b.json' } };
    const peers = createPeerRegistry({ ledger, configured, clock, log: silent, self: 'switch' });
    assert.equal(peers.cardUrl('a'), 'http://127.0.0.1:9220/a2a/.well-known/agent-card.json');
    assert.equal(peers.cardUrl('b'), 'http://cards/b.json');
    assert.equal(peers.cardUrl('c'), undefined);
  });
});

describe('a crowd of peers that nobody configured', () => {
  it('is bounded: the stalest goes, those that joined and those at work last', async () => {
    const rows = new Map<string, object>();
    const clock = manualClock();
    const peers = createPeerRegistry({
      ledger: {
        peers: () => [],
        savePeer: async (row) => void rows.set(row.agentId, row),
        forgetPeer: async (name) => void rows.delete(name),
      },
      configured: { neo: { url: 'http://127.0.0.1:9220/jsonrpc' } },
      join: JOIN,
      clock,
      log: silent,
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

  it('has no room for one more of them than of those that are needed', async () => {
    const clock = manualClock();
    const peers = createPeerRegistry({
      ledger: { peers: () => [], savePeer: async () => undefined, forgetPeer: async () => undefined },
      configured: {},
      join: JOIN,
      clock,
      log: silent,
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

  it('is bounded in what each of them says, too', async (t) => {
    const { peers } = setUp(t);
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

  it('is bounded at a start, too: of more rows the stalest are forgotten', () => {
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
      clock: manualClock(),
      log: silent,
      self: 'switch',
    });
    assert.equal(peers.list().length, MAX_UNCONFIGURED);
    assert.deepEqual(forgotten, ['p1000', 'p1001', 'p1002']);
  });

  it('a row that can be read no longer is left out, and so is one in our own name', (t) => {
    const { clock } = setUp(t);
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
      log: { ...silent, warn: (_fields, message) => void warned.push(message) },
    });
    assert.deepEqual(peers.list(), []);
    assert.deepEqual(warned, [
      'stored announce is not readable: waiting for a new one',
      'stored announce is not authorized any more',
    ]);
  });
});
