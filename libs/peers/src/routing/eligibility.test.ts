import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  announcing,
  cardOnly,
  dispatchOf,
  NOW,
  POLICY,
  peerOf,
  prosePeer,
} from '@hermes-fleet/fleet/testing';
import type { TaskDispatch, UnmetKind } from '@hermes-fleet/protocol';
import type { PeerProfile } from '../peer-profile.ts';
import type { RoutingPolicy } from './policy.ts';
import { route } from './route.ts';

interface Row {
  readonly what: string;
  readonly peer: PeerProfile;
  readonly dispatch?: TaskDispatch;
  readonly policy?: Partial<RoutingPolicy>;
  readonly kind: UnmetKind;
  readonly reason: RegExp;
  /** Whether waiting may help with this peer alone. */
  readonly waitable: boolean;
}

const requiring = (requirements: NonNullable<TaskDispatch['requirements']>): TaskDispatch =>
  dispatchOf({ requirements });
const limits = (maxConcurrentTasks: number, queueDepth: number, queuedTasks: number) => ({
  limits: { maxConcurrentTasks, queueDepth, queuedTasks },
});
const DIRTY = { session: { repoState: { branch: 'x', clean: false } } };

/** One row for each hard reason of design 2 (Routing), and for what else rules a peer out. */
const ROWS: readonly Row[] = [
  {
    what: 'the asking profile',
    peer: peerOf('switch'),
    kind: 'peer',
    reason: /asking profile/,
    waitable: false,
  },
  {
    what: 'another than the target',
    peer: peerOf('neo'),
    dispatch: dispatchOf({ routing: { target: 'trinity' } }),
    kind: 'peer',
    reason: /not the target trinity/,
    waitable: false,
  },
  {
    what: 'a peer that only announced itself',
    peer: peerOf('neo', { standing: 'known', endpoint: undefined }),
    kind: 'peer',
    reason: /neither configured nor joined/,
    waitable: false,
  },
  {
    what: 'a peer that has not announced itself',
    peer: peerOf('neo', { announce: undefined, receivedAt: undefined }),
    kind: 'peer',
    reason: /not announced itself/,
    waitable: true,
  },
  {
    what: 'a stale announce',
    peer: peerOf('neo', { receivedAt: NOW - 90_001 }),
    kind: 'peer',
    reason: /stale/,
    waitable: true,
  },
  {
    what: 'an announce beyond its own ttl',
    peer: announcing('neo', { ttlS: 3 }, { receivedAt: NOW - 3_001 }),
    kind: 'peer',
    reason: /stale/,
    waitable: true,
  },
  {
    what: 'an incompatible version',
    peer: announcing('neo', { protocolVersions: ['3.0', '4.1'] }),
    kind: 'version',
    reason: /speaks handshake 3\.0, 4\.1 only/,
    waitable: false,
  },
  {
    what: 'an incompatible version, where no list is announced',
    peer: announcing('neo', { protocolVersion: '1.0' }),
    kind: 'version',
    reason: /speaks handshake 1\.0 only/,
    waitable: false,
  },
  {
    what: 'an incompatible version on the card of a peer that never announced',
    peer: cardOnly('neo', { versions: ['3.0'] }),
    kind: 'version',
    reason: /speaks handshake 3\.0 only/,
    waitable: false,
  },
  {
    what: 'a trader',
    peer: announcing('t', { role: 'trader' }),
    kind: 'capability',
    reason: /takes no tasks/,
    waitable: false,
  },
  {
    what: 'a worker without a model',
    peer: announcing('t', { worker: { modelTier: 'none' } }),
    kind: 'capability',
    reason: /takes no tasks/,
    waitable: false,
  },
  {
    what: 'a peer that is not ready',
    peer: announcing('neo', { ready: false }),
    kind: 'peer',
    reason: /not ready/,
    waitable: true,
  },
  {
    what: 'an open circuit',
    peer: peerOf('neo', { circuitOpenUntil: NOW + 1 }),
    kind: 'peer',
    reason: /keeps failing/,
    waitable: true,
  },
  {
    what: 'a peer that refused this task before',
    peer: peerOf('neo'),
    policy: { excluded: new Map([['neo', 'queue is full']]) },
    kind: 'peer',
    reason: /already refused: queue is full/,
    waitable: true,
  },
  {
    what: 'a circle',
    peer: peerOf('neo'),
    dispatch: dispatchOf({ task: { path: ['neo'] } }),
    kind: 'path',
    reason: /circle/,
    waitable: false,
  },
  {
    what: 'a missing MCP server',
    peer: peerOf('neo'),
    dispatch: requiring({ requiredMcp: ['trek'] }),
    kind: 'mcp',
    reason: /no MCP server "trek"/,
    waitable: false,
  },
  ...(['timeout', 'error', 'disabled'] as const).map(
    (health): Row => ({
      what: `an MCP server in ${health}`,
      peer: announcing('neo', { mcpHealth: { memory: health } }),
      dispatch: requiring({ requiredMcp: ['memory'] }),
      kind: 'mcp',
      reason: new RegExp(`not healthy \\(${health}\\)`),
      waitable: health !== 'disabled',
    }),
  ),
  {
    what: 'an MCP server of which no health is announced',
    peer: announcing('neo', { mcpHealth: {} }),
    dispatch: requiring({ requiredMcp: ['memory'] }),
    kind: 'mcp',
    reason: /not healthy \(unknown\)/,
    waitable: true,
  },
  {
    what: 'the same of one that is named as what every object has',
    peer: announcing('neo', { mcpHealth: {}, capabilities: { mcpServers: ['constructor'] } }),
    dispatch: requiring({ requiredMcp: ['constructor'] }),
    kind: 'mcp',
    reason: /not healthy \(unknown\)/,
    waitable: true,
  },
  {
    what: 'a missing capability',
    peer: peerOf('neo'),
    dispatch: requiring({ requiredCapabilities: ['browser'] }),
    kind: 'capability',
    reason: /lacks capability "browser"/,
    waitable: false,
  },
  {
    what: 'a tier below the range',
    peer: peerOf('neo'),
    dispatch: requiring({ modelTier: { min: 'opus' } }),
    kind: 'tier',
    reason: /tier sonnet is outside opus to any/,
    waitable: false,
  },
  {
    what: 'a tier above the range',
    peer: peerOf('neo'),
    dispatch: requiring({ modelTier: { max: 'haiku' } }),
    kind: 'tier',
    reason: /outside any to haiku/,
    waitable: false,
  },
  {
    what: 'a range of tiers that nobody knows',
    peer: peerOf('neo'),
    dispatch: requiring({ modelTier: { min: 'huge' } }),
    kind: 'tier',
    reason: /outside huge to any/,
    waitable: false,
  },
  {
    what: 'a tier that no list names, for a stated range',
    peer: announcing('neo', { worker: { modelTier: 'nano' } }),
    dispatch: requiring({ modelTier: { min: 'haiku' } }),
    kind: 'tier',
    reason: /tier nano is outside/,
    waitable: false,
  },
  {
    what: 'a context window below what is asked for',
    peer: peerOf('neo'),
    dispatch: requiring({ minContextWindow: 300_000 }),
    kind: 'context',
    reason: /context window 200000 is below the 300000/,
    waitable: false,
  },
  {
    what: 'a context window below the brief',
    peer: peerOf('neo'),
    policy: { briefTokens: 200_001 },
    kind: 'context',
    reason: /200001 tokens needed/,
    waitable: false,
  },
  {
    what: 'a dirty tree for a write task',
    peer: announcing('neo', DIRTY),
    kind: 'repo',
    reason: /dirty/,
    waitable: true,
  },
  {
    what: 'a full queue',
    peer: announcing('neo', limits(1, 2, 2)),
    kind: 'capacity',
    reason: /queue is full/,
    waitable: true,
  },
  {
    what: 'a busy peer without a queue',
    peer: announcing('neo', { ...limits(1, 0, 0), session: { activeTasks: 1 } }),
    kind: 'capacity',
    reason: /queue is full/,
    waitable: true,
  },
  {
    what: 'a peer without a queue that we gave its only slot',
    peer: announcing('neo', limits(1, 0, 0), { inFlight: 1 }),
    kind: 'capacity',
    reason: /queue is full/,
    waitable: true,
  },
  {
    what: 'a prose peer for a task that requires something',
    peer: prosePeer('stock'),
    dispatch: dispatchOf({ task: { write: false }, requirements: { requiredCapabilities: ['terminal'] } }),
    kind: 'capability',
    reason: /speaks prose/,
    waitable: false,
  },
  {
    what: 'a prose peer for a task that asks for a tier',
    peer: prosePeer('stock'),
    dispatch: dispatchOf({ task: { write: false }, requirements: { modelTier: { max: 'sonnet' } } }),
    kind: 'capability',
    reason: /speaks prose/,
    waitable: false,
  },
  {
    what: 'a prose peer for a task that may write',
    peer: prosePeer('stock'),
    kind: 'capability',
    reason: /speaks prose/,
    waitable: false,
  },
  {
    what: 'a prose peer whose card was not read for too long',
    peer: cardOnly('stock', { handshake: false, readAt: NOW - 90_001 }),
    dispatch: dispatchOf({ routing: { target: 'stock' } }),
    kind: 'peer',
    reason: /not announced itself/,
    waitable: true,
  },
];

const decide = ({ peer, dispatch = dispatchOf(), policy }: Row) =>
  route(dispatch, [peer], { ...POLICY, ...policy }, NOW);

describe('routing: hard reasons', () => {
  for (const row of ROWS)
    it(`excludes ${row.what}`, () => {
      const { chosen, considered, unmet, waitable } = decide(row);
      assert.equal(chosen, undefined);
      assert.deepEqual([considered[0]?.verdict, considered[0]?.score], ['excluded', 0]);
      assert.match(considered[0]?.reasons.join('; ') ?? '', row.reason);
      assert.ok(unmet.length > 0, 'says why');
      assert.equal(waitable, row.waitable, 'waitable');
    });

  it('gives each reason the kind that the result names', () => {
    for (const row of ROWS) {
      const { unmet } = decide(row);
      const isPeerless = unmet[0]?.kind === 'peer' && row.kind !== 'peer';
      assert.ok(isPeerless || unmet.some(({ kind }) => kind === row.kind), `${row.what}: ${unmet[0]?.kind}`);
    }
  });

  it('names every reason of a peer at once', () => {
    const peer = announcing(
      'neo',
      { ...DIRTY, ...limits(1, 2, 2), mcpHealth: { memory: 'error' } },
      { circuitOpenUntil: NOW + 1 },
    );
    const dispatch = dispatchOf({
      task: { path: ['neo'], write: true },
      requirements: {
        requiredMcp: ['memory', 'trek'],
        requiredCapabilities: ['browser', 'fly'],
        modelTier: { min: 'opus' },
        minContextWindow: 1_000_000,
      },
    });
    const { considered } = route(dispatch, [peer], POLICY, NOW);
    assert.equal(considered[0]?.reasons.length, 10, considered[0]?.reasons.join('; '));
  });
});

describe('routing: what is no reason', () => {
  const fine: [string, PeerProfile, TaskDispatch][] = [
    ['an announce in its last moment', peerOf('neo', { receivedAt: NOW - 90_000 }), dispatchOf()],
    ['a circuit whose pause is over', peerOf('neo', { circuitOpenUntil: NOW }), dispatchOf()],
    ['another minor version', announcing('neo', { protocolVersions: ['3.0', '2.7'] }), dispatchOf()],
    [
      'a dirty tree for a task that does not write',
      announcing('neo', DIRTY),
      dispatchOf({ task: { write: false } }),
    ],
    [
      'a sick MCP server that is not needed',
      announcing('neo', { mcpHealth: { memory: 'error' } }),
      dispatchOf(),
    ],
    [
      'a tier that no list names, for an open range',
      announcing('neo', { worker: { modelTier: 'nano' } }),
      dispatchOf(),
    ],
    ['a peer that joined', peerOf('neo', { standing: 'joined' }), dispatchOf()],
    [
      'an old card with a foreign version, where a live announce says better',
      peerOf('neo', { card: { handshake: true, versions: ['3.0'], readAt: 0 } }),
      dispatchOf(),
    ],
    [
      'a card without the handshake, where a live announce says better',
      peerOf('neo', { card: { handshake: false, versions: [], readAt: NOW } }),
      dispatchOf({ requirements: { requiredMcp: ['memory'] } }),
    ],
  ];
  for (const [what, peer, dispatch] of fine)
    it(`takes ${what}`, () => assert.equal(route(dispatch, [peer], POLICY, NOW).chosen, 'neo'));
});
