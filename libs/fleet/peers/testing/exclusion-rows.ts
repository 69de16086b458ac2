import type { TaskDispatch, UnmetKind } from '@hermes-fleet/protocol/handshake';
import type { PeerProfile } from '../src/peer-profile.ts';
import type { RoutingPolicy } from '../src/routing/policy.ts';
import { announcing, cardOnly, dispatchOf, NOW, peerOf, prosePeer } from './index.ts';

export interface Row {
  readonly what: string;
  readonly peer: PeerProfile;
  readonly dispatch?: TaskDispatch;
  readonly policy?: Partial<RoutingPolicy>;
  readonly kind: UnmetKind;
  readonly reason: RegExp;
  /** True if waiting may help when this is the only peer. */
  readonly waitable: boolean;
}

const requiring = (requirements: NonNullable<TaskDispatch['requirements']>): TaskDispatch =>
  dispatchOf({ requirements });
export const limits = (maxConcurrentTasks: number, queueDepth: number, queuedTasks: number) => ({
  limits: { maxConcurrentTasks, queueDepth, queuedTasks },
});
export const DIRTY = { session: { repoState: { branch: 'x', clean: false, inUse: false } } };

/** At least one row for each hard reason of docs/handshake.md#routing. */
export const ROWS: readonly Row[] = [
  {
    what: 'the asking profile',
    peer: peerOf('switch'),
    kind: 'peer',
    reason: /asking profile/,
    waitable: false,
  },
  {
    what: 'a peer other than the target',
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
    what: 'an incompatible version without an announced list',
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
  ...(['timeout', 'error'] as const).map(
    (modelHealth): Row => ({
      what: `a model in ${modelHealth}`,
      peer: announcing('neo', { modelHealth }),
      kind: 'capability',
      reason: new RegExp(`its model offline/runbook is not healthy \\(${modelHealth}\\)`),
      waitable: true,
    }),
  ),
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
    what: 'a peer in the path of the task',
    peer: peerOf('neo'),
    dispatch: dispatchOf({ task: { path: ['neo'] } }),
    kind: 'path',
    reason: /cycle/,
    waitable: false,
  },
  {
    what: 'a missing MCP server',
    peer: peerOf('neo'),
    dispatch: requiring({ requiredMcp: ['trek'] }),
    kind: 'mcp',
    reason: /"trek" is not configured/,
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
    what: 'an MCP server without announced health',
    peer: announcing('neo', { mcpHealth: {} }),
    dispatch: requiring({ requiredMcp: ['memory'] }),
    kind: 'mcp',
    reason: /not healthy \(unknown\)/,
    waitable: true,
  },
  {
    what: 'an MCP server named like a property of every object',
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
    reason: /capability "browser" is not available/,
    waitable: false,
  },
  {
    what: 'a tier below the range',
    peer: peerOf('neo'),
    dispatch: requiring({ modelTier: { min: 'opus' } }),
    kind: 'tier',
    reason: /tier sonnet is outside the required opus to any/,
    waitable: false,
  },
  {
    what: 'a tier above the range',
    peer: peerOf('neo'),
    dispatch: requiring({ modelTier: { max: 'haiku' } }),
    kind: 'tier',
    reason: /outside the required any to haiku/,
    waitable: false,
  },
  {
    what: 'an unknown range of tiers',
    peer: peerOf('neo'),
    dispatch: requiring({ modelTier: { min: 'huge' } }),
    kind: 'tier',
    reason: /outside the required huge to any/,
    waitable: false,
  },
  {
    what: 'an unlisted tier for a given range',
    peer: announcing('neo', { worker: { modelTier: 'nano' } }),
    dispatch: requiring({ modelTier: { min: 'haiku' } }),
    kind: 'tier',
    reason: /tier nano is outside/,
    waitable: false,
  },
  {
    what: 'a context window below the requested one',
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
    reason: /below the 200001 tokens of the brief/,
    waitable: false,
  },
  {
    what: 'a dirty tree for a write task',
    peer: announcing('neo', DIRTY),
    kind: 'repo',
    reason: /dirty.*: commit or stash the changes there, or send it with write: false/,
    waitable: false,
  },
  {
    what: 'a broken repository, also for a task that reads',
    peer: announcing('neo', { session: { repoState: { branch: '', clean: true, health: 'down' } } }),
    dispatch: dispatchOf({ task: { write: false } }),
    kind: 'repo',
    reason: /cannot work with its repositories/,
    waitable: true,
  },
  {
    what: 'a peer with a task for each of its slots',
    peer: announcing('neo', { ...limits(2, 5, 1), session: { activeTasks: 1 } }),
    kind: 'capacity',
    reason: /no free slot \(2 tasks, at most 2\)/,
    waitable: true,
  },
  {
    what: 'a peer that announces no limits, with four tasks',
    peer: announcing('neo', { limits: undefined, session: { activeTasks: 4 } }),
    kind: 'capacity',
    reason: /no free slot \(4 tasks, at most 4\)/,
    waitable: true,
  },
  {
    what: 'a peer whose only slot has a task of ours',
    peer: announcing('neo', limits(1, 9, 0), { inFlight: 1 }),
    kind: 'capacity',
    reason: /no free slot/,
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
    what: 'a prose peer whose card has expired',
    peer: cardOnly('stock', { handshake: false, readAt: NOW - 90_001 }),
    dispatch: dispatchOf({ routing: { target: 'stock' } }),
    kind: 'peer',
    reason: /not announced itself/,
    waitable: true,
  },
];
