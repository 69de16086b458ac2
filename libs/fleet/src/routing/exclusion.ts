import {
  isWriteTask,
  negotiate,
  type SessionAnnounce,
  type TaskDispatch,
  type Unmet,
} from '@hermes-fleet/protocol';
import { isLive, type PeerProfile } from '../peers/profile.ts';
import type { RoutingPolicy } from './policy.ts';

export interface Question {
  readonly dispatch: TaskDispatch;
  readonly policy: RoutingPolicy;
  readonly now: number;
}

type HardReason = (peer: PeerProfile, announce: SessionAnnounce, question: Question) => Unmet[];

const one = (kind: Unmet['kind'], name: string, detail: string, transient: boolean): Unmet[] => [
  { kind, name, detail, transient },
];

/** Everything that rules a peer out for a dispatch; empty when it is eligible (design 2, Routing, hard reasons). */
export function exclusions(peer: PeerProfile, question: Question): Unmet[] {
  const { policy, now, dispatch } = question;
  const { target } = dispatch.routing ?? {};
  if (peer.name === policy.self) return one('peer', peer.name, 'is the asking profile', false);
  if (target !== undefined && target !== 'auto' && target !== peer.name)
    return one('peer', peer.name, `is not the target ${target}`, false);
  if (!peer.endpoint) return one('peer', peer.name, 'is not configured as a peer', false);
  if (!peer.announce) return one('peer', peer.name, 'has not announced itself yet', true);
  if (!isLive(peer, now)) return one('peer', peer.name, 'is stale: its last announce has expired', true);
  const { announce } = peer;
  return HARD_REASONS.flatMap((reason) => reason(peer, announce, question));
}

const version: HardReason = (peer, announce, { policy }) => {
  const theirs = announce.protocolVersions ?? [announce.protocolVersion];
  if (negotiate(policy.versions, theirs) !== undefined) return [];
  return one('version', peer.name, `speaks handshake ${theirs.join(', ')} only`, false);
};

const worker: HardReason = (peer, announce) =>
  announce.role === 'trader' || announce.worker.modelTier === 'none'
    ? one('capability', peer.name, 'takes no tasks', false)
    : [];

const readiness: HardReason = (peer, announce) =>
  announce.ready === false ? one('peer', peer.name, 'is not ready', true) : [];

const circuit: HardReason = (peer, _announce, { now }) =>
  peer.circuitOpenUntil > now ? one('peer', peer.name, 'keeps failing and is left alone for now', true) : [];

const refusal: HardReason = (peer, _announce, { policy }) => {
  const reason = policy.excluded?.get(peer.name);
  return reason === undefined ? [] : one('peer', peer.name, `has already refused: ${reason}`, true);
};

const path: HardReason = (peer, _announce, { dispatch }) =>
  dispatch.task.path?.includes(peer.name)
    ? one('path', peer.name, 'has had this task already: it would go in a circle', false)
    : [];

const mcp: HardReason = (_peer, announce, { dispatch }) =>
  (dispatch.requirements?.requiredMcp ?? []).flatMap((name) => {
    if (!declaresMcp(announce, name)) return one('mcp', name, `has no MCP server "${name}"`, false);
    const health = announce.mcpHealth[name];
    if (health === 'ok') return [];
    return one(
      'mcp',
      name,
      `MCP server "${name}" is not healthy (${health ?? 'unknown'})`,
      health !== 'disabled',
    );
  });

const capability: HardReason = (_peer, announce, { dispatch }) =>
  (dispatch.requirements?.requiredCapabilities ?? []).flatMap((name) =>
    declaresCapability(announce, name) ? [] : one('capability', name, `lacks capability "${name}"`, false),
  );

const tier: HardReason = (_peer, announce, { dispatch, policy }) => {
  const { modelTier } = announce.worker;
  return tierFits(modelTier, dispatch, policy.tiers)
    ? []
    : one('tier', modelTier, `tier ${modelTier} is outside ${tierRange(dispatch)}`, false);
};

const contextWindow: HardReason = (peer, announce, { dispatch, policy }) => {
  const needed = Math.max(dispatch.requirements?.minContextWindow ?? 0, policy.briefTokens ?? 0);
  const { contextWindow: window } = announce.worker;
  return needed > window
    ? one('context', peer.name, `context window ${window} is below the ${needed} tokens needed`, false)
    : [];
};

const repo: HardReason = (peer, announce, { dispatch }) =>
  isWriteTask(dispatch) && !announce.session.repoState.clean
    ? one('repo', peer.name, 'working tree is dirty, and this is a write task', true)
    : [];

const capacity: HardReason = (peer, announce) => {
  const { limits, session } = announce;
  if (!limits) return [];
  const full =
    limits.queueDepth === 0
      ? Math.max(session.activeTasks, peer.inFlight) >= limits.maxConcurrentTasks
      : limits.queuedTasks >= limits.queueDepth;
  return full ? one('capacity', peer.name, 'queue is full', true) : [];
};

const HARD_REASONS: readonly HardReason[] = [
  version,
  worker,
  readiness,
  circuit,
  refusal,
  path,
  mcp,
  capability,
  tier,
  contextWindow,
  repo,
  capacity,
];

export function declaresMcp(announce: SessionAnnounce, name: string): boolean {
  return announce.capabilities.mcpServers.includes(name);
}

export function declaresCapability(announce: SessionAnnounce, name: string): boolean {
  return announce.capabilities.tools.includes(name);
}

/** Whether a tier lies in the range that the dispatch allows. A tier that no list names fits only an open range. */
export function tierFits(tierName: string, dispatch: TaskDispatch, tiers: readonly string[]): boolean {
  const { min, max } = dispatch.requirements?.modelTier ?? {};
  if (min === undefined && max === undefined) return true;
  const rank = tiers.indexOf(tierName);
  const lowest = min === undefined ? 0 : tiers.indexOf(min);
  const highest = max === undefined ? tiers.length - 1 : tiers.indexOf(max);
  return rank >= 0 && lowest >= 0 && highest >= 0 && rank >= lowest && rank <= highest;
}

export function tierRange(dispatch: TaskDispatch): string {
  const { min, max } = dispatch.requirements?.modelTier ?? {};
  return `${min ?? 'any'} to ${max ?? 'any'}`;
}
