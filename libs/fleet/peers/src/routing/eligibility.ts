import { negotiate } from '@hermes-fleet/protocol';
import {
  isWriteTask,
  type SessionAnnounce,
  type TaskDispatch,
  type Unmet,
} from '@hermes-fleet/protocol/handshake';
import type { ModelInfo } from '@hermes-fleet/protocol/ports';
import { capacityOf } from '../capacity.ts';
import { isLive, isProsePeer, type PeerProfile } from '../peer-profile.ts';
import type { RoutingPolicy } from './policy.ts';

/** The model that a fleet member without a model announces. It takes no tasks. */
export const NO_MODEL: ModelInfo = { id: 'none', tier: 'none', contextWindow: 0 };

export interface RoutingQuery {
  readonly dispatch: TaskDispatch;
  readonly policy: RoutingPolicy;
  readonly now: number;
}

type PeerCheck = (peer: PeerProfile, query: RoutingQuery) => readonly Unmet[];
type AnnounceCheck = (peer: PeerProfile, announce: SessionAnnounce, query: RoutingQuery) => readonly Unmet[];

const MET: readonly Unmet[] = [];
const unmet = (kind: Unmet['kind'], name: string, detail: string, transient: boolean): readonly Unmet[] => [
  { kind, name, detail, transient },
];

/** Concatenates the findings for all items. Without findings it allocates nothing. */
function collect<T>(items: readonly T[] | undefined, find: (item: T) => readonly Unmet[]): readonly Unmet[] {
  let found = MET;
  if (items) for (const item of items) found = concat(found, find(item));
  return found;
}

function concat(a: readonly Unmet[], b: readonly Unmet[]): readonly Unmet[] {
  if (b.length === 0) return a;
  return a.length === 0 ? b : [...a, ...b];
}

/** Returns every hard reason that excludes a peer (docs/handshake.md#routing); empty = eligible. */
export function exclusionReasons(peer: PeerProfile, query: RoutingQuery): readonly Unmet[] {
  const unroutable = identity(peer, query);
  if (unroutable.length > 0) return unroutable;
  const { announce } = peer;
  const known =
    announce && isLive(peer, query.now)
      ? checkAnnounce(peer, announce, query)
      : (isProsePeer(peer, query.now) ? checkProsePeer : checkSilentPeer)(peer, query);
  return concat(
    known,
    collect(LOCAL_CHECKS, (reason) => reason(peer, query)),
  );
}

/** A peer that takes no tasks has only that reason. */
const checkAnnounce: AnnounceCheck = (peer, announce, query) =>
  takesTasks(announce)
    ? collect(ANNOUNCE_CHECKS, (reason) => reason(peer, announce, query))
    : unmet('capability', peer.name, 'takes no tasks: send it a CONTROL_DECISION', false);

/** False for a trader and for a peer without a model. */
export function takesTasks(announce: SessionAnnounce): boolean {
  return announce.role !== 'trader' && announce.worker.modelTier !== NO_MODEL.tier;
}

export function declaresMcp(announce: SessionAnnounce, name: string): boolean {
  return announce.capabilities.mcpServers.includes(name);
}

export function declaresCapability(announce: SessionAnnounce, name: string): boolean {
  return announce.capabilities.tools.includes(name);
}

/** True if the dispatch allows the tier. A tier outside `tiers` fits only an open range. */
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

const identity: PeerCheck = (peer, { policy, dispatch }) => {
  const target = dispatch.routing?.target;
  if (peer.name === policy.self) return unmet('peer', peer.name, 'is the asking profile', false);
  if (target !== undefined && target !== 'auto' && target !== peer.name)
    return unmet('peer', peer.name, `is not the target ${target}`, false);
  if (!peer.endpoint)
    return unmet('peer', peer.name, 'is neither configured nor joined: it only announced itself', false);
  if (peer.leaving) return unmet('peer', peer.name, 'is leaving the fleet', false);
  return MET;
};

/** A prose peer accepts anything. Only the caller can know whether it suits the task. */
const checkProsePeer: PeerCheck = (peer, { dispatch }) => {
  if (dispatch.routing?.target === peer.name) return MET;
  if (requiresNothing(dispatch) && dispatch.task.write === false) return MET;
  const detail =
    'speaks prose: without being the target it gets only tasks that require nothing and have write: false';
  return unmet('capability', 'handshake', detail, false);
};

/** Checks a peer whose announce is missing or stale. */
const checkSilentPeer: PeerCheck = (peer, { policy }) => {
  const versions = peer.card?.handshake ? peer.card.versions : [];
  if (versions.length > 0 && negotiate(policy.versions, versions) === undefined)
    return foreign(peer.name, versions);
  const detail = peer.announce ? 'is stale: its last announce has expired' : 'has not announced itself yet';
  return unmet('peer', peer.name, detail, true);
};

const foreign = (peer: string, versions: readonly string[]): readonly Unmet[] =>
  unmet('version', peer, `speaks handshake ${versions.join(', ')} only`, false);

const version: AnnounceCheck = (peer, announce, { policy }) => {
  const { protocolVersion, protocolVersions } = announce;
  // Fast path: a common version needs no negotiation.
  if (protocolVersions?.some((listed) => policy.versions.includes(listed))) return MET;
  const theirs = protocolVersions ?? [protocolVersion];
  return negotiate(policy.versions, theirs) === undefined ? foreign(peer.name, theirs) : MET;
};

const readiness: AnnounceCheck = (peer, announce) =>
  announce.ready === false ? unmet('peer', peer.name, 'is not ready', true) : MET;

/** A peer that announces no health of its model is trusted to have one. */
const model: AnnounceCheck = (_peer, { worker, modelHealth = 'ok' }) =>
  modelHealth === 'ok'
    ? MET
    : unmet('capability', 'model', `its model ${worker.model} is not healthy (${modelHealth})`, true);

const mcp: AnnounceCheck = (_peer, announce, { dispatch }) =>
  collect(dispatch.requirements?.requiredMcp, (name) => mcpServerUnmet(announce, name));

function mcpServerUnmet(announce: SessionAnnounce, name: string): readonly Unmet[] {
  if (!declaresMcp(announce, name)) return unmet('mcp', name, `has no MCP server "${name}"`, false);
  const health = Object.hasOwn(announce.mcpHealth, name) ? announce.mcpHealth[name] : undefined;
  if (health === 'ok') return MET;
  const detail = `MCP server "${name}" is not healthy (${health ?? 'unknown'})`;
  return unmet('mcp', name, detail, health !== 'disabled');
}

const capability: AnnounceCheck = (_peer, announce, { dispatch }) =>
  collect(dispatch.requirements?.requiredCapabilities, (name) =>
    declaresCapability(announce, name) ? MET : unmet('capability', name, `lacks capability "${name}"`, false),
  );

const tier: AnnounceCheck = (_peer, announce, { dispatch, policy }) => {
  const { modelTier } = announce.worker;
  if (tierFits(modelTier, dispatch, policy.tiers)) return MET;
  return unmet('tier', modelTier, `tier ${modelTier} is outside ${tierRange(dispatch)}`, false);
};

const contextWindow: AnnounceCheck = (peer, announce, { dispatch, policy }) => {
  const needed = neededWindow(dispatch, policy.briefTokens);
  const { contextWindow: window } = announce.worker;
  if (needed <= window) return MET;
  return unmet('context', peer.name, `context window ${window} is below the ${needed} tokens needed`, false);
};

const repo: AnnounceCheck = (peer, { session: { repoState } }, { dispatch }) => {
  if (repoState.health === 'down') return unmet('repo', peer.name, 'cannot work with its repositories', true);
  if (repoState.clean || !isWriteTask(dispatch)) return MET;
  return unmet('repo', peer.name, 'working tree is dirty, and this is a write task', true);
};

const capacity: PeerCheck = (peer, { now, policy }) => {
  const { free, load, limit, mayQueue } = capacityOf(peer, now, policy.buffer);
  if (free > 0 || (policy.mayQueue && mayQueue)) return MET;
  return unmet('capacity', peer.name, `has no free slot (${load} tasks, at most ${limit})`, true);
};

const circuit: PeerCheck = (peer, { now }) =>
  peer.circuitOpenUntil > now
    ? unmet('peer', peer.name, 'keeps failing and is not asked for now', true)
    : MET;

const refusal: PeerCheck = (peer, { policy }) => {
  const reason = policy.excluded?.get(peer.name);
  return reason === undefined ? MET : unmet('peer', peer.name, `${REFUSED}: ${reason}`, true);
};

const REFUSED = 'has already refused';

/** A reason of routing for an event: without the words of a peer that has refused. */
export const reasonInEvent = (reason: string): string =>
  reason.startsWith(`${REFUSED}:`) ? REFUSED : reason;

const home: PeerCheck = (peer, { policy }) =>
  policy.home === undefined || policy.home === peer.name
    ? MET
    : unmet(
        'peer',
        peer.name,
        `the context of the task is at ${policy.home}, which may have a slot soon`,
        true,
      );

const path: PeerCheck = (peer, { dispatch }) =>
  dispatch.task.path?.includes(peer.name)
    ? unmet('path', peer.name, 'has already had this task: sending it again would make a cycle', false)
    : MET;

const ANNOUNCE_CHECKS: readonly AnnounceCheck[] = [
  version,
  readiness,
  model,
  mcp,
  capability,
  tier,
  contextWindow,
  repo,
];

const LOCAL_CHECKS: readonly PeerCheck[] = [capacity, circuit, refusal, home, path];

/** The context window that a dispatch needs, tokens. */
export function neededWindow(dispatch: TaskDispatch, briefTokens = 0): number {
  return Math.max(dispatch.requirements?.minContextWindow ?? 0, briefTokens);
}

/** A preferred tier is not a requirement. */
function requiresNothing({ requirements = {} }: TaskDispatch): boolean {
  const { requiredMcp = [], requiredCapabilities = [], modelTier = {}, minContextWindow } = requirements;
  const open = modelTier.min === undefined && modelTier.max === undefined && minContextWindow === undefined;
  return open && requiredMcp.length === 0 && requiredCapabilities.length === 0;
}
