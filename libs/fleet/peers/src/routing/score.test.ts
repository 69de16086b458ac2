import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';
import { announcing, dispatchOf, NOW, POLICY, peerOf } from '../../testing/index.ts';
import type { PeerProfile } from '../peer-profile.ts';
import type { RoutingPolicy } from './policy.ts';
import { route } from './route.ts';

/** One row for each soft reason of docs/handshake.md#routing: it lowers the score of `b`, and is noted. */
const WORSE: [string, PeerProfile, RegExp][] = [
  ['announced load', announcing('b', { session: { activeTasks: 2 } }), /load 0\.50/],
  [
    'announced queue',
    announcing('b', { limits: { maxConcurrentTasks: 4, queueDepth: 9, queuedTasks: 3 } }),
    /load 0\.75/,
  ],
  ['load of our own', peerOf('b', { inFlight: 3 }), /load 0\.75/],
  [
    'tier two steps off',
    announcing('b', { worker: { modelTier: 'haiku' } }),
    /tier haiku 1 off the preferred/,
  ],
  ['refusals', peerOf('b', { blockedRate: 0.5 }), /refused 50% recently/],
  ['latency', peerOf('b', { latencyMs: 2_000 }), /latency 2000 ms/],
];

describe('routing: soft reasons', () => {
  for (const [what, peer, note] of WORSE)
    it(`prefers the peer without ${what}, and notes it`, () => {
      const { chosen, considered } = route(dispatchOf(), [peer, peerOf('a')], POLICY, NOW);
      assert.equal(chosen, 'a');
      const [first, second] = considered;
      assert.deepEqual([second?.peer, second?.verdict], ['b', 'eligible']);
      assert.match(second?.reasons.join('; ') ?? '', note);
      assert.doesNotMatch(first?.reasons.join('; ') ?? '', note);
      assert.ok((first?.score ?? 0) > (second?.score ?? 0));
    });

  it('prefers a fresh session, and notes it', () => {
    const fresh = announcing('b', { session: { sessionFresh: true } });
    const { chosen, considered } = route(dispatchOf(), [fresh, peerOf('a')], POLICY, NOW);
    assert.equal(chosen, 'b');
    assert.match(considered[0]?.reasons.join('; ') ?? '', /fresh session/);
  });

  it('ignores a difference of a few milliseconds, so that the peers share', () => {
    const { considered } = route(dispatchOf(), [peerOf('a', { latencyMs: 20 }), peerOf('b')], POLICY, NOW);
    assert.equal(considered[0]?.score, considered[1]?.score);
  });

  it('counts four slots for a peer that announces no limits', () => {
    const peer = announcing('b', { limits: undefined, session: { activeTasks: 1 } });
    assert.match(route(dispatchOf(), [peer], POLICY, NOW).considered[0]?.reasons[0] ?? '', /load 0\.25/);
  });
});

interface Fit {
  readonly what: string;
  readonly dispatch: TaskDispatch;
  readonly tier: string;
  readonly policy?: Partial<RoutingPolicy>;
}

const task = (fields: Partial<TaskDispatch['task']>): TaskDispatch => dispatchOf({ task: fields });
const ruled = { byPriority: { normal: 'opus', urgent: 'haiku' } };

/** The preferred tier (docs/handshake.md#routing). */
const FITS: readonly Fit[] = [
  { what: 'ordinary work', dispatch: task({}), tier: 'sonnet' },
  { what: 'work of high priority', dispatch: task({ priority: 'high' }), tier: 'sonnet' },
  { what: 'low priority', dispatch: task({ priority: 'low' }), tier: 'haiku' },
  { what: 'urgent work', dispatch: task({ priority: 'urgent' }), tier: 'opus' },
  { what: 'a budget just below small', dispatch: task({ tokenBudget: 1_999 }), tier: 'haiku' },
  { what: 'a budget just not small', dispatch: task({ tokenBudget: 2_000 }), tier: 'sonnet' },
  { what: 'a budget just not large', dispatch: task({ tokenBudget: 50_000 }), tier: 'sonnet' },
  { what: 'a budget just above large', dispatch: task({ tokenBudget: 50_001 }), tier: 'opus' },
  {
    what: 'urgent work of a small budget',
    dispatch: task({ priority: 'urgent', tokenBudget: 100 }),
    tier: 'haiku',
  },
  {
    what: 'low priority with a large budget',
    dispatch: task({ priority: 'low', tokenBudget: 90_000 }),
    tier: 'haiku',
  },
  {
    what: 'a stated preference',
    dispatch: dispatchOf({ task: { priority: 'urgent' }, requirements: { modelTier: { prefer: 'haiku' } } }),
    tier: 'haiku',
  },
  {
    what: 'a range without the preferred tier, to the nearest tier,',
    dispatch: dispatchOf({ task: { priority: 'low' }, requirements: { modelTier: { min: 'sonnet' } } }),
    tier: 'sonnet',
  },
  { what: 'a configured priority', dispatch: task({}), tier: 'opus', policy: ruled },
  {
    what: 'a configured priority, in spite of the budget,',
    dispatch: task({ priority: 'urgent', tokenBudget: 90_000 }),
    tier: 'haiku',
    policy: ruled,
  },
  {
    what: 'a priority that is not configured',
    dispatch: task({ priority: 'low' }),
    tier: 'haiku',
    policy: ruled,
  },
  {
    what: 'other thresholds',
    dispatch: task({ tokenBudget: 5_000 }),
    tier: 'haiku',
    policy: { smallBelowTokens: 6_000 },
  },
];

describe('routing: the preferred tier', () => {
  const tiers = ['opus', 'haiku', 'sonnet'].map((modelTier) =>
    announcing(modelTier, { worker: { modelTier } }),
  );
  for (const { what, dispatch, tier, policy } of FITS)
    it(`sends ${what} to ${tier}`, () =>
      assert.equal(route(dispatch, tiers, { ...POLICY, ...policy }, NOW).chosen, tier));

  it('uses the lower middle tier for ordinary work, and none for an unknown preference', () => {
    const four = ['a', 'b', 'c', 'd'];
    const peers = four.map((modelTier) => announcing(modelTier, { worker: { modelTier } }));
    assert.equal(route(task({}), peers, { ...POLICY, tiers: four }, NOW).chosen, 'b');
    const unknown = dispatchOf({ requirements: { modelTier: { prefer: 'huge' } } });
    const scores = route(unknown, peers, { ...POLICY, tiers: four }, NOW).considered.map(
      ({ score }) => score,
    );
    assert.equal(new Set(scores).size, 1);
  });
});
