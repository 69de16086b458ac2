import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TaskDispatch } from '@hermes-fleet/protocol';
import fc from 'fast-check';
import type { PeerProfile } from '../peers/profile.ts';
import { announceOf, NOW, peerOf } from '../testing/fakes.ts';
import type { RoutingPolicy } from './policy.ts';
import { route } from './route.ts';

const policy: RoutingPolicy = {
  self: 'switch',
  versions: ['2.0'],
  tiers: ['haiku', 'sonnet', 'opus'],
  smallBelowTokens: 2_000,
  largeAboveTokens: 50_000,
};

type Extra = Partial<Omit<TaskDispatch, 'task'>> & { task?: Partial<TaskDispatch['task']> };
const dispatchOf = ({ task, ...rest }: Extra = {}): TaskDispatch => ({
  type: 'TASK_DISPATCH',
  protocolVersion: '2.0',
  task: { taskId: 't-1', ...task },
  brief: 'do it',
  ...rest,
});

const reasonsOf = (peer: PeerProfile, dispatch = dispatchOf(), with_ = policy): string =>
  route(dispatch, [peer], with_, NOW).considered[0]?.reasons.join('; ') ?? '';

describe('routing: hard reasons', () => {
  const cases: [string, PeerProfile, TaskDispatch, RegExp][] = [
    ['the asking profile', peerOf('switch'), dispatchOf(), /asking profile/],
    [
      'another than the target',
      peerOf('neo'),
      dispatchOf({ routing: { target: 'trinity' } }),
      /not the target trinity/,
    ],
    ['an unconfigured peer', peerOf('neo', { endpoint: undefined }), dispatchOf(), /not configured/],
    ['a silent peer', peerOf('neo', { announce: undefined }), dispatchOf(), /not announced itself/],
    ['a stale announce', peerOf('neo', { receivedAt: NOW - 90_001 }), dispatchOf(), /stale/],
    [
      'a foreign version',
      peerOf('neo', { announce: announceOf('neo', { protocolVersions: ['3.0'] }) }),
      dispatchOf(),
      /speaks handshake 3.0 only/,
    ],
    [
      'a trader',
      peerOf('t', { announce: announceOf('t', { role: 'trader' }) }),
      dispatchOf(),
      /takes no tasks/,
    ],
    [
      'a peer that is not ready',
      peerOf('neo', { announce: announceOf('neo', { ready: false }) }),
      dispatchOf(),
      /not ready/,
    ],
    ['an open circuit', peerOf('neo', { circuitOpenUntil: NOW + 1 }), dispatchOf(), /keeps failing/],
    ['a circle', peerOf('neo'), dispatchOf({ task: { path: ['neo'] } }), /circle/],
    [
      'a missing MCP server',
      peerOf('neo'),
      dispatchOf({ requirements: { requiredMcp: ['trek'] } }),
      /no MCP server "trek"/,
    ],
    [
      'a sick MCP server',
      peerOf('neo', { announce: announceOf('neo', { mcpHealth: { memory: 'timeout' } }) }),
      dispatchOf({ requirements: { requiredMcp: ['memory'] } }),
      /not healthy \(timeout\)/,
    ],
    [
      'a missing capability',
      peerOf('neo'),
      dispatchOf({ requirements: { requiredCapabilities: ['browser'] } }),
      /lacks capability "browser"/,
    ],
    [
      'a tier below',
      peerOf('neo'),
      dispatchOf({ requirements: { modelTier: { min: 'opus' } } }),
      /outside opus to any/,
    ],
    [
      'a tier above',
      peerOf('neo'),
      dispatchOf({ requirements: { modelTier: { max: 'haiku' } } }),
      /outside any to haiku/,
    ],
    [
      'a small context window',
      peerOf('neo'),
      dispatchOf({ requirements: { minContextWindow: 300_000 } }),
      /context window 200000/,
    ],
    [
      'a dirty tree for a write task',
      peerOf('neo', {
        announce: announceOf('neo', { session: { repoState: { branch: 'x', clean: false } } }),
      }),
      dispatchOf(),
      /dirty/,
    ],
    [
      'a full queue',
      peerOf('neo', {
        announce: announceOf('neo', { limits: { maxConcurrentTasks: 1, queueDepth: 2, queuedTasks: 2 } }),
      }),
      dispatchOf(),
      /queue is full/,
    ],
    [
      'a busy peer without a queue',
      peerOf('neo', {
        announce: announceOf('neo', {
          limits: { maxConcurrentTasks: 1, queueDepth: 0, queuedTasks: 0 },
          session: { activeTasks: 1 },
        }),
      }),
      dispatchOf(),
      /queue is full/,
    ],
  ];
  for (const [what, peer, dispatch, reason] of cases)
    it(`excludes ${what}`, () => {
      const decision = route(dispatch, [peer], policy, NOW);
      assert.equal(decision.chosen, undefined);
      assert.match(reasonsOf(peer, dispatch), reason);
      assert.ok(decision.unmet.length > 0, 'says why');
    });

  it('excludes a peer that refused this task before, and a brief that does not fit', () => {
    const refused = { ...policy, excluded: new Map([['neo', 'queue is full']]) };
    assert.match(reasonsOf(peerOf('neo'), dispatchOf(), refused), /already refused: queue is full/);
    assert.match(
      reasonsOf(peerOf('neo'), dispatchOf(), { ...policy, briefTokens: 200_001 }),
      /200001 tokens needed/,
    );
  });

  it('takes a dirty tree for a task that does not write', () => {
    const dirty = announceOf('neo', { session: { repoState: { branch: 'x', clean: false } } });
    const decision = route(
      dispatchOf({ task: { write: false } }),
      [peerOf('neo', { announce: dirty })],
      policy,
      NOW,
    );
    assert.equal(decision.chosen, 'neo');
  });

  it('says of what no live peer declares that waiting is pointless', () => {
    const dispatch = dispatchOf({ requirements: { requiredMcp: ['nope'], requiredCapabilities: ['fly'] } });
    const { unmet } = route(dispatch, [peerOf('neo'), peerOf('trinity')], policy, NOW);
    assert.deepEqual(
      unmet.map(({ kind, name, transient }) => [kind, name, transient]),
      [
        ['mcp', 'nope', false],
        ['capability', 'fly', false],
      ],
    );
    assert.match(
      unmet[0]?.detail ?? '',
      /required MCP server "nope" is not declared by any live peer \(neo, trinity\)/,
    );
  });

  it('says of a sick server that it is transient', () => {
    const sick = peerOf('neo', { announce: announceOf('neo', { mcpHealth: { memory: 'error' } }) });
    const { unmet } = route(dispatchOf({ requirements: { requiredMcp: ['memory'] } }), [sick], policy, NOW);
    assert.deepEqual(
      unmet.map(({ kind, transient }) => [kind, transient]),
      [['mcp', true]],
    );
  });

  it('knows a target that is nobody', () => {
    const { unmet } = route(dispatchOf({ routing: { target: 'ghost' } }), [peerOf('neo')], policy, NOW);
    assert.match(unmet[0]?.detail ?? '', /"ghost" is not a peer of switch/);
    assert.equal(route(dispatchOf(), [], policy, NOW).unmet[0]?.transient, false);
  });
});

describe('routing: soft reasons', () => {
  const tiers = ['haiku', 'sonnet', 'opus'].map((modelTier) =>
    peerOf(modelTier, { announce: announceOf(modelTier, { worker: { modelTier } }) }),
  );
  const fits: [string, TaskDispatch, string][] = [
    ['low priority', dispatchOf({ task: { priority: 'low' } }), 'haiku'],
    ['a small budget', dispatchOf({ task: { tokenBudget: 1_999 } }), 'haiku'],
    ['ordinary work', dispatchOf({ task: { tokenBudget: 4_000 } }), 'sonnet'],
    ['urgent work', dispatchOf({ task: { priority: 'urgent' } }), 'opus'],
    ['a large budget', dispatchOf({ task: { tokenBudget: 50_001 } }), 'opus'],
    ['a preference', dispatchOf({ requirements: { modelTier: { prefer: 'haiku' } } }), 'haiku'],
  ];
  for (const [what, dispatch, tier] of fits)
    it(`sends ${what} to ${tier}`, () => assert.equal(route(dispatch, tiers, policy, NOW).chosen, tier));

  it('follows a ruling of the policy', () => {
    const ruled = { ...policy, byPriority: { normal: 'opus' } };
    assert.equal(route(dispatchOf(), tiers, ruled, NOW).chosen, 'opus');
  });

  const worse: [string, PeerProfile][] = [
    ['announced load', peerOf('b', { announce: announceOf('b', { session: { activeTasks: 2 } }) })],
    ['load of our own', peerOf('b', { inFlight: 3 })],
    ['refusals', peerOf('b', { blockedRate: 0.5 })],
    ['latency', peerOf('b', { latencyMs: 2_000 })],
  ];
  for (const [what, peer] of worse)
    it(`prefers the peer without ${what}`, () =>
      assert.equal(route(dispatchOf(), [peer, peerOf('a')], policy, NOW).chosen, 'a'));
});

const anyPeer = fc.record({
  name: fc.constantFrom('switch', 'a', 'b', 'c', 'd', 'e', 'f'),
  configured: fc.boolean(),
  age: fc.integer({ min: 0, max: 120_000 }),
  tier: fc.constantFrom('haiku', 'sonnet', 'opus', 'none'),
  health: fc.constantFrom('ok' as const, 'timeout' as const, 'error' as const, 'disabled' as const),
  tools: fc.subarray(['terminal', 'file', 'browser']),
  clean: fc.boolean(),
  active: fc.integer({ min: 0, max: 8 }),
  circuit: fc.constantFrom(0, NOW + 1_000),
});
const toPeer = (p: typeof anyPeer extends fc.Arbitrary<infer T> ? T : never): PeerProfile =>
  peerOf(p.name, {
    ...(p.configured ? {} : { endpoint: undefined }),
    receivedAt: NOW - p.age,
    circuitOpenUntil: p.circuit,
    announce: announceOf(p.name, {
      worker: { modelTier: p.tier },
      capabilities: { tools: p.tools },
      mcpHealth: { memory: p.health },
      session: { activeTasks: p.active, repoState: { branch: 'main', clean: p.clean } },
    }),
  });
const anyFleet = fc
  .uniqueArray(anyPeer, { selector: ({ name }) => name, maxLength: 7 })
  .map((list) => list.map(toPeer));
const anyDispatch = fc
  .record({
    id: fc.uuid(),
    priority: fc.constantFrom('low' as const, 'normal' as const, 'urgent' as const),
    write: fc.boolean(),
    mcp: fc.subarray(['memory', 'nope']),
    tools: fc.subarray(['terminal', 'browser']),
    path: fc.subarray(['a', 'b']),
    target: fc.constantFrom(undefined, 'auto', 'a', 'ghost'),
  })
  .map((d) =>
    dispatchOf({
      task: { taskId: d.id, priority: d.priority, write: d.write, path: d.path },
      requirements: { requiredMcp: d.mcp, requiredCapabilities: d.tools },
      ...(d.target === undefined ? {} : { routing: { target: d.target } }),
    }),
  );

describe('routing: properties', () => {
  it('never picks an excluded peer, and says why when it picks nobody', () => {
    fc.assert(
      fc.property(anyFleet, anyDispatch, (peers, dispatch) => {
        const { chosen, considered, unmet } = route(dispatch, peers, policy, NOW);
        assert.equal(considered.length, peers.length);
        for (const peer of peers) {
          const alone = route(dispatch, [peer], policy, NOW).considered[0];
          const here = considered.find((entry) => entry.peer === peer.name);
          assert.equal(here?.verdict === 'excluded', alone?.verdict === 'excluded');
          if (peer.name === chosen) assert.notEqual(alone?.verdict, 'excluded');
        }
        assert.equal(chosen === undefined, unmet.length > 0);
        assert.equal(
          chosen === undefined,
          considered.every(({ verdict }) => verdict === 'excluded'),
        );
      }),
    );
  });

  it('does not depend on the order of the peers', () => {
    const shuffled = anyFleet.chain((peers) =>
      fc.tuple(fc.constant(peers), fc.shuffledSubarray(peers, { minLength: peers.length })),
    );
    fc.assert(
      fc.property(shuffled, anyDispatch, ([peers, others], dispatch) => {
        assert.deepEqual(route(dispatch, peers, policy, NOW), route(dispatch, others, policy, NOW));
      }),
    );
  });

  it('stays routable when an eligible peer joins', () => {
    fc.assert(
      fc.property(anyFleet, anyDispatch, anyPeer, (peers, dispatch, extra) => {
        const newcomer = toPeer({ ...extra, name: 'a' });
        if (route(dispatch, [newcomer], policy, NOW).chosen === undefined) return;
        const joined = [...peers.filter(({ name }) => name !== 'a'), newcomer];
        assert.notEqual(route(dispatch, joined, policy, NOW).chosen, undefined);
      }),
    );
  });

  it('shares evenly among equal peers', () => {
    const peers = ['a', 'b', 'c', 'd'].map((name) => peerOf(name));
    const share = new Map<string, number>();
    for (let i = 0; i < 4_000; i += 1) {
      const { chosen = '' } = route(dispatchOf({ task: { taskId: `task-${i}` } }), peers, policy, NOW);
      share.set(chosen, (share.get(chosen) ?? 0) + 1);
    }
    for (const [peer, count] of share)
      assert.ok(count > 850 && count < 1_150, `${peer} got ${count} of 4000`);
    assert.equal(share.size, 4);
  });
});
