import { negotiate } from '@hermes-fleet/protocol';
import {
  type Condition,
  conditionsOf,
  isWriteTask,
  MET,
  type SessionAnnounce,
  spokenVersions,
  type TaskDispatch,
  type Unmet,
  unmet,
  unmetOfEach,
  windowForBrief,
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
  /** What the dispatch requires of a worker, with a window for its brief. */
  readonly conditions: readonly Condition[];
}

export function routingQuery(dispatch: TaskDispatch, policy: RoutingPolicy, now: number): RoutingQuery {
  const { briefTokens = 0, tiers } = policy;
  const required = conditionsOf(dispatch.requirements, tiers);
  const conditions = briefTokens === 0 ? required : [...required, windowForBrief(briefTokens)];
  return { dispatch, policy, now, conditions };
}

type PeerCheck = (peer: PeerProfile, query: RoutingQuery) => readonly Unmet[];
type AnnounceCheck = (peer: PeerProfile, announce: SessionAnnounce, query: RoutingQuery) => readonly Unmet[];

/** Returns every hard reason that excludes a peer (docs/handshake.md#routing); empty = eligible. */
export function exclusionReasons(peer: PeerProfile, query: RoutingQuery): readonly Unmet[] {
  const unroutable = identity(peer, query);
  if (unroutable.length > 0) return unroutable;
  const { announce } = peer;
  const known =
    announce && isLive(peer, query.now)
      ? checkAnnounce(peer, announce, query)
      : (isProsePeer(peer, query.now) ? checkProsePeer : checkSilentPeer)(peer, query);
  const local = unmetOfEach(LOCAL_CHECKS, (reason) => reason(peer, query));
  if (known.length === 0) return local;
  return local.length === 0 ? known : [...known, ...local];
}

/** A peer that takes no tasks has only that reason. */
const checkAnnounce: AnnounceCheck = (peer, announce, query) =>
  takesTasks(announce)
    ? unmetOfEach(ANNOUNCE_CHECKS, (reason) => reason(peer, announce, query))
    : unmet('capability', peer.name, 'takes no tasks: send it a CONTROL_DECISION');

/** False for a trader and for a peer without a model. */
export function takesTasks(announce: SessionAnnounce): boolean {
  return announce.role !== 'trader' && announce.worker.modelTier !== NO_MODEL.tier;
}

const identity: PeerCheck = (peer, { policy, dispatch }) => {
  const target = dispatch.routing?.target;
  if (peer.name === policy.self) return unmet('peer', peer.name, 'is the asking profile');
  if (target !== undefined && target !== 'auto' && target !== peer.name)
    return unmet('peer', peer.name, `is not the target ${target}`);
  if (!peer.endpoint)
    return unmet('peer', peer.name, 'is neither configured nor joined: it only announced itself');
  if (peer.leaving) return unmet('peer', peer.name, 'is leaving the fleet');
  return MET;
};

/** A prose peer accepts anything. Only the caller can know whether it suits the task. */
const checkProsePeer: PeerCheck = (peer, { dispatch, policy }) => {
  if (dispatch.routing?.target === peer.name) return MET;
  const requiresNothing = conditionsOf(dispatch.requirements, policy.tiers).length === 0;
  if (requiresNothing && dispatch.task.write === false) return MET;
  const detail =
    'speaks prose: without being the target it gets only tasks that require nothing and have write: false';
  return unmet('capability', 'handshake', detail);
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
  unmet('version', peer, `speaks handshake ${versions.join(', ')} only`);

const version: AnnounceCheck = (peer, announce, { policy }) => {
  const theirs = spokenVersions(announce);
  // Fast path: a common version needs no negotiation.
  if (theirs.some((listed) => policy.versions.includes(listed))) return MET;
  return negotiate(policy.versions, theirs) === undefined ? foreign(peer.name, theirs) : MET;
};

const readiness: AnnounceCheck = (peer, announce) =>
  announce.ready === false ? unmet('peer', peer.name, 'is not ready', true) : MET;

/** A peer that announces no health of its model is trusted to have one. */
const model: AnnounceCheck = (_peer, { worker, modelHealth = 'ok' }) =>
  modelHealth === 'ok'
    ? MET
    : unmet('capability', 'model', `its model ${worker.model} is not healthy (${modelHealth})`, true);

const requirements: AnnounceCheck = (_peer, announce, { conditions }) => {
  if (conditions.length === 0) return MET;
  // An announce keeps fields that this version does not know: nothing but these is judged.
  const { worker, capabilities, mcpHealth } = announce;
  const facts = { worker, capabilities, mcpHealth };
  return unmetOfEach(conditions, (condition) => condition.unmet(facts));
};

const repo: AnnounceCheck = (peer, { session: { repoState } }, { dispatch }) => {
  if (repoState.health === 'down') return unmet('repo', peer.name, 'cannot work with its repositories', true);
  if (repoState.clean || !isWriteTask(dispatch)) return MET;
  const dirty = 'working tree is dirty, and this is a write task';
  // A peer that does not say whose the changes are may have a task that ends them.
  return (repoState.inUse ?? true)
    ? unmet('repo', peer.name, `${dirty}: the task that works there is not finished`, true)
    : unmet('repo', peer.name, `${dirty}: commit or stash the changes there, or send it with write: false`);
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
    ? unmet('path', peer.name, 'has already had this task: sending it again would make a cycle')
    : MET;

const ANNOUNCE_CHECKS: readonly AnnounceCheck[] = [version, readiness, model, requirements, repo];

const LOCAL_CHECKS: readonly PeerCheck[] = [capacity, circuit, refusal, home, path];
