import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';
import fc from 'fast-check';
import { announceOf, dispatchOf, NOW, POLICY, peerOf } from '../../testing/index.ts';
import type { PeerProfile } from '../peer-profile.ts';
import { route } from './route.ts';

const anyCard = fc.option(
  fc.record({
    handshake: fc.boolean(),
    versions: fc.constantFrom([], ['2.0'], ['3.0'], ['2.3', '3.0']),
    readAt: fc.constantFrom(NOW, NOW - 200_000),
  }),
  { nil: undefined },
);

const anyPeer = fc
  .record({
    name: fc.constantFrom('switch', 'a', 'b', 'c', 'd', 'e', 'f'),
    standing: fc.constantFrom('configured' as const, 'joined' as const, 'known' as const),
    card: anyCard,
    announced: fc.boolean(),
    age: fc.integer({ min: 0, max: 120_000 }),
    versions: fc.constantFrom<string[] | undefined>(undefined, ['2.0'], ['2.9'], ['3.0']),
    role: fc.constantFrom(undefined, 'trader'),
    ready: fc.constantFrom(undefined, true, false),
    tier: fc.constantFrom('haiku', 'sonnet', 'opus', 'none', 'nano'),
    window: fc.constantFrom(1_000, 200_000),
    health: fc.constantFrom('ok' as const, 'timeout' as const, 'error' as const, 'disabled' as const),
    tools: fc.subarray(['terminal', 'file', 'browser']),
    clean: fc.boolean(),
    fresh: fc.boolean(),
    active: fc.integer({ min: 0, max: 8 }),
    queued: fc.integer({ min: 0, max: 3 }),
    depth: fc.integer({ min: 0, max: 3 }),
    circuit: fc.constantFrom(0, NOW + 1_000),
    inFlight: fc.integer({ min: 0, max: 3 }),
    blockedRate: fc.constantFrom(0, 0.3, 1),
    latencyMs: fc.constantFrom(0, 240, 9_000),
  })
  .map(
    (p): PeerProfile =>
      peerOf(p.name, {
        standing: p.standing,
        card: p.card,
        ...(p.standing === 'known' ? { endpoint: undefined } : {}),
        receivedAt: p.announced ? NOW - p.age : undefined,
        circuitOpenUntil: p.circuit,
        inFlight: p.inFlight,
        blockedRate: p.blockedRate,
        latencyMs: p.latencyMs,
        announce: p.announced
          ? announceOf(p.name, {
              worker: { modelTier: p.tier, contextWindow: p.window },
              capabilities: { tools: p.tools },
              mcpHealth: { memory: p.health },
              session: {
                activeTasks: p.active,
                sessionFresh: p.fresh,
                repoState: { branch: 'main', clean: p.clean },
              },
              limits: { maxConcurrentTasks: 4, queueDepth: p.depth, queuedTasks: p.queued },
              protocolVersions: p.versions,
              role: p.role,
              ready: p.ready,
            })
          : undefined,
      }),
  );

const anyFleet = fc.uniqueArray(anyPeer, { selector: ({ name }) => name, maxLength: 7 });

const anyDispatch = fc
  .record({
    id: fc.uuid(),
    priority: fc.constantFrom('low' as const, 'normal' as const, 'urgent' as const),
    write: fc.constantFrom(undefined, true, false),
    mcp: fc.subarray(['memory', 'nope']),
    tools: fc.subarray(['terminal', 'browser']),
    tier: fc.constantFrom({}, { min: 'sonnet' }, { max: 'haiku' }, { prefer: 'opus' }),
    window: fc.constantFrom(undefined, 100_000),
    path: fc.subarray(['a', 'b']),
    target: fc.constantFrom(undefined, 'auto', 'a', 'ghost', 'switch'),
  })
  .map(
    (d): TaskDispatch =>
      dispatchOf({
        task: { taskId: d.id, priority: d.priority, write: d.write, path: d.path },
        requirements: {
          requiredMcp: d.mcp,
          requiredCapabilities: d.tools,
          modelTier: d.tier,
          minContextWindow: d.window,
        },
        ...(d.target === undefined ? {} : { routing: { target: d.target } }),
      }),
  );

const anyPolicy = fc.subarray(['a', 'b', 'c']).map((refused) => ({
  ...POLICY,
  excluded: new Map(refused.map((name) => [name, 'no'])),
}));

/** A worker that meets most requirements, with any load. */
const anyHealthyPeer = fc
  .record({
    tier: fc.constantFrom('haiku', 'sonnet', 'opus'),
    active: fc.integer({ min: 0, max: 20 }),
    inFlight: fc.integer({ min: 0, max: 20 }),
    blockedRate: fc.constantFrom(0, 1),
  })
  .map(({ tier, active, inFlight, blockedRate }) =>
    peerOf('newcomer', {
      announce: announceOf('newcomer', { worker: { modelTier: tier }, session: { activeTasks: active } }),
      inFlight,
      blockedRate,
    }),
  );

/** A dispatch that some worker can meet. */
const anyModestDispatch = anyDispatch.map(
  (dispatch): TaskDispatch => ({
    ...dispatch,
    requirements: {
      ...dispatch.requirements,
      requiredMcp: dispatch.requirements?.requiredMcp?.filter((name) => name !== 'nope'),
      requiredCapabilities: dispatch.requirements?.requiredCapabilities?.filter((name) => name !== 'browser'),
    },
    routing: { target: 'auto' },
  }),
);

describe('routing: properties', () => {
  it('never chooses an excluded peer, and gives reasons if it chooses none', () => {
    fc.assert(
      fc.property(anyFleet, anyDispatch, anyPolicy, (peers, dispatch, policy) => {
        const { chosen, considered, unmet, waitable } = route(dispatch, peers, policy, NOW);
        assert.equal(considered.length, peers.length);
        for (const peer of peers) {
          const alone = route(dispatch, [peer], policy, NOW).considered[0];
          const here = considered.find((entry) => entry.peer === peer.name);
          assert.equal(here?.verdict === 'excluded', alone?.verdict === 'excluded');
          assert.deepEqual([here?.reasons, here?.score], [alone?.reasons, alone?.score]);
          if (peer.name === chosen) assert.notEqual(alone?.verdict, 'excluded');
          assert.ok((here?.reasons.length ?? 0) > 0, 'explains itself');
        }
        const nobody = chosen === undefined;
        assert.equal(nobody, unmet.length > 0);
        assert.equal(
          nobody,
          considered.every(({ verdict }) => verdict === 'excluded'),
        );
        if (waitable) assert.ok(nobody && unmet.some(({ transient }) => transient));
      }),
    );
  });

  it('chooses the best score among the eligible peers, and lists them best first', () => {
    fc.assert(
      fc.property(anyFleet, anyDispatch, (peers, dispatch) => {
        const { chosen, considered } = route(dispatch, peers, POLICY, NOW);
        const eligible = considered.filter(({ verdict }) => verdict !== 'excluded');
        const scores = eligible.map(({ score }) => score);
        assert.deepEqual(
          scores,
          scores.toSorted((a, b) => b - a),
        );
        assert.equal(eligible[0]?.peer, chosen);
        assert.equal(
          considered.filter(({ verdict }) => verdict === 'chosen').length,
          chosen === undefined ? 0 : 1,
        );
        assert.deepEqual(considered.slice(0, eligible.length), eligible, 'excluded peers come last');
      }),
    );
  });

  it('does not depend on the order of the peers', () => {
    const shuffled = anyFleet.chain((peers) =>
      fc.tuple(fc.constant(peers), fc.shuffledSubarray(peers, { minLength: peers.length })),
    );
    fc.assert(
      fc.property(shuffled, anyDispatch, anyPolicy, ([peers, others], dispatch, policy) => {
        assert.deepEqual(route(dispatch, peers, policy, NOW), route(dispatch, others, policy, NOW));
      }),
    );
  });

  it('is pure: equal results for equal input, which stays unchanged', () => {
    fc.assert(
      fc.property(anyFleet, anyDispatch, anyPolicy, (peers, dispatch, policy) => {
        const before = structuredClone({ peers, dispatch, policy });
        const first = route(deepFreeze(dispatch), deepFreeze(peers), policy, NOW);
        assert.deepEqual(route(dispatch, peers, policy, NOW), first);
        assert.deepEqual(structuredClone({ peers, dispatch, policy }), before);
      }),
    );
  });

  it('stays routable when an eligible peer is added', () => {
    fc.assert(
      fc.property(
        anyFleet,
        anyModestDispatch,
        anyHealthyPeer,
        anyPolicy,
        (peers, dispatch, newcomer, policy) => {
          fc.pre(route(dispatch, [newcomer], policy, NOW).chosen !== undefined);
          assert.notEqual(route(dispatch, [...peers, newcomer], policy, NOW).chosen, undefined);
        },
      ),
    );
  });

  it('shares evenly among equal peers, and a peer that leaves moves only its own share', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 8 }), fc.string({ maxLength: 8 }), (count, prefix) => {
        const peers = Array.from({ length: count }, (_, i) => peerOf(`worker-${i}`));
        const tasks = 2_000;
        const share = new Map(peers.map(({ name }) => [name, 0]));
        for (let i = 0; i < tasks; i += 1) {
          const dispatch = dispatchOf({ task: { taskId: `${prefix}${i}` } });
          const { chosen = '' } = route(dispatch, peers, POLICY, NOW);
          share.set(chosen, (share.get(chosen) ?? 0) + 1);
          if (i % 20 !== 0 || chosen === 'worker-0') continue;
          assert.equal(route(dispatch, peers.slice(1), POLICY, NOW).chosen, chosen);
        }
        assert.equal(share.size, count);
        // Chi-square with at most 7 degrees of freedom exceeds this bound by chance about once in ten million runs.
        const fair = tasks / count;
        const chiSquare = [...share.values()].reduce((sum, got) => sum + (got - fair) ** 2 / fair, 0);
        assert.ok(chiSquare < 45, `chi-square ${chiSquare.toFixed(1)}: ${[...share.values()].join(' ')}`);
      }),
      { numRuns: 25 },
    );
  });
});

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || value instanceof Map) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
