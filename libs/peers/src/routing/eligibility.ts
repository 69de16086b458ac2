import {
  isWriteTask,
  type ModelInfo,
  negotiate,
  type SessionAnnounce,
  type TaskDispatch,
  type Unmet,
} from '@hermes-fleet/protocol';
import { isLive, isProse, type PeerProfile } from '../peer-profile.ts';
import type { RoutingPolicy } from './policy.ts';

/** What runs no model announces this in its place: it is a member of the fleet that takes no tasks. */
export const NO_MODEL: ModelInfo = { id: 'none', tier: 'none', contextWindow: 0 };

export interface Question {
  readonly dispatch: TaskDispatch;
  readonly policy: RoutingPolicy;
  readonly now: number;
}

type AboutPeer = (peer: PeerProfile, question: Question) => readonly Unmet[];
type AboutAnnounce = (peer: PeerProfile, announce: SessionAnnounce, question: Question) => readonly Unmet[];

const FITS: readonly Unmet[] = [];
const one = (kind: Unmet['kind'], name: string, detail: string, transient: boolean): readonly Unmet[] => [
  { kind, name, detail, transient },
];

/** What all of these find; most often that is nothing, and then nothing is made. */
function each<T>(items: readonly T[] | undefined, find: (item: T) => readonly Unmet[]): readonly Unmet[] {
  let found = FITS;
  if (items) for (const item of items) found = joined(found, find(item));
  return found;
}

function joined(a: readonly Unmet[], b: readonly Unmet[]): readonly Unmet[] {
  if (b.length === 0) return a;
  return a.length === 0 ? b : [...a, ...b];
}

/** Everything that rules a peer out for a dispatch; empty when it is eligible (design 2, Routing, hard reasons). */
export function exclusions(peer: PeerProfile, question: Question): readonly Unmet[] {
  const stranger = identity(peer, question);
  if (stranger.length > 0) return stranger;
  const { announce } = peer;
  const known =
    announce && isLive(peer, question.now)
      ? announced(peer, announce, question)
      : (isProse(peer, question.now) ? prose : silence)(peer, question);
  return joined(
    known,
    each(OBSERVED, (reason) => reason(peer, question)),
  );
}

/** Who takes no tasks at all has that one reason: what it lacks for this one says nothing. */
const announced: AboutAnnounce = (peer, announce, question) =>
  takesTasks(announce)
    ? each(ANNOUNCED, (reason) => reason(peer, announce, question))
    : one('capability', peer.name, 'takes no tasks: send it a CONTROL_DECISION', false);

/** Whether a peer that announces this takes tasks at all: a trader does not. */
export function takesTasks(announce: SessionAnnounce): boolean {
  return announce.role !== 'trader' && announce.worker.modelTier !== NO_MODEL.tier;
}

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

const identity: AboutPeer = (peer, { policy, dispatch }) => {
  const target = dispatch.routing?.target;
  if (peer.name === policy.self) return one('peer', peer.name, 'is the asking profile', false);
  if (target !== undefined && target !== 'auto' && target !== peer.name)
    return one('peer', peer.name, `is not the target ${target}`, false);
  if (!peer.endpoint)
    return one('peer', peer.name, 'is neither configured nor joined: it only announced itself', false);
  return FITS;
};

/** A peer that says nothing of itself takes what it is sent; nobody but the caller can know whether it should. */
const prose: AboutPeer = (peer, { dispatch }) => {
  if (dispatch.routing?.target === peer.name) return FITS;
  if (requiresNothing(dispatch) && dispatch.task.write === false) return FITS;
  const detail =
    'speaks prose: without being the target it gets only tasks that require nothing and have write: false';
  return one('capability', 'handshake', detail, false);
};

/** What is known of a peer whose announce is missing or has expired. */
const silence: AboutPeer = (peer, { policy }) => {
  const versions = peer.card?.handshake ? peer.card.versions : [];
  if (versions.length > 0 && negotiate(policy.versions, versions) === undefined)
    return foreign(peer.name, versions);
  const detail = peer.announce ? 'is stale: its last announce has expired' : 'has not announced itself yet';
  return one('peer', peer.name, detail, true);
};

const foreign = (peer: string, versions: readonly string[]): readonly Unmet[] =>
  one('version', peer, `speaks handshake ${versions.join(', ')} only`, false);

const version: AboutAnnounce = (peer, announce, { policy }) => {
  const { protocolVersion, protocolVersions } = announce;
  // Most often they list one of ours: then nothing is to be negotiated.
  if (protocolVersions?.some((listed) => policy.versions.includes(listed))) return FITS;
  const theirs = protocolVersions ?? [protocolVersion];
  return negotiate(policy.versions, theirs) === undefined ? foreign(peer.name, theirs) : FITS;
};

const readiness: AboutAnnounce = (peer, announce) =>
  announce.ready === false ? one('peer', peer.name, 'is not ready', true) : FITS;

const mcp: AboutAnnounce = (_peer, announce, { dispatch }) =>
  each(dispatch.requirements?.requiredMcp, (name) => serverFault(announce, name));

function serverFault(announce: SessionAnnounce, name: string): readonly Unmet[] {
  if (!declaresMcp(announce, name)) return one('mcp', name, `has no MCP server "${name}"`, false);
  const health = Object.hasOwn(announce.mcpHealth, name) ? announce.mcpHealth[name] : undefined;
  if (health === 'ok') return FITS;
  const detail = `MCP server "${name}" is not healthy (${health ?? 'unknown'})`;
  return one('mcp', name, detail, health !== 'disabled');
}

const capability: AboutAnnounce = (_peer, announce, { dispatch }) =>
  each(dispatch.requirements?.requiredCapabilities, (name) =>
    declaresCapability(announce, name) ? FITS : one('capability', name, `lacks capability "${name}"`, false),
  );

const tier: AboutAnnounce = (_peer, announce, { dispatch, policy }) => {
  const { modelTier } = announce.worker;
  if (tierFits(modelTier, dispatch, policy.tiers)) return FITS;
  return one('tier', modelTier, `tier ${modelTier} is outside ${tierRange(dispatch)}`, false);
};

const contextWindow: AboutAnnounce = (peer, announce, { dispatch, policy }) => {
  const needed = neededWindow(dispatch, policy.briefTokens);
  const { contextWindow: window } = announce.worker;
  if (needed <= window) return FITS;
  return one('context', peer.name, `context window ${window} is below the ${needed} tokens needed`, false);
};

const repo: AboutAnnounce = (peer, announce, { dispatch }) =>
  !announce.session.repoState.clean && isWriteTask(dispatch)
    ? one('repo', peer.name, 'working tree is dirty, and this is a write task', true)
    : FITS;

const capacity: AboutAnnounce = (peer, { limits, session }) => {
  if (!limits) return FITS;
  // Our own tasks with it count as well: its announce may not know of them yet.
  const waiting = Math.max(limits.queuedTasks, peer.inFlight - limits.maxConcurrentTasks);
  const full =
    limits.queueDepth === 0
      ? Math.max(session.activeTasks, peer.inFlight) >= limits.maxConcurrentTasks
      : waiting >= limits.queueDepth;
  return full ? one('capacity', peer.name, 'queue is full', true) : FITS;
};

const circuit: AboutPeer = (peer, { now }) =>
  peer.circuitOpenUntil > now
    ? one('peer', peer.name, 'keeps failing and is left alone for now', true)
    : FITS;

const refusal: AboutPeer = (peer, { policy }) => {
  const reason = policy.excluded?.get(peer.name);
  return reason === undefined ? FITS : one('peer', peer.name, `has already refused: ${reason}`, true);
};

const path: AboutPeer = (peer, { dispatch }) =>
  dispatch.task.path?.includes(peer.name)
    ? one('path', peer.name, 'has had this task already: it would go in a circle', false)
    : FITS;

const ANNOUNCED: readonly AboutAnnounce[] = [
  version,
  readiness,
  mcp,
  capability,
  tier,
  contextWindow,
  repo,
  capacity,
];

const OBSERVED: readonly AboutPeer[] = [circuit, refusal, path];

/** The context window, in tokens, that the dispatch asks for or its brief takes. */
export function neededWindow(dispatch: TaskDispatch, briefTokens = 0): number {
  return Math.max(dispatch.requirements?.minContextWindow ?? 0, briefTokens);
}

/** Whether any peer will do, as far as the dispatch says. A preferred tier is no requirement. */
function requiresNothing({ requirements = {} }: TaskDispatch): boolean {
  const { requiredMcp = [], requiredCapabilities = [], modelTier = {}, minContextWindow } = requirements;
  const open = modelTier.min === undefined && modelTier.max === undefined && minContextWindow === undefined;
  return open && requiredMcp.length === 0 && requiredCapabilities.length === 0;
}
