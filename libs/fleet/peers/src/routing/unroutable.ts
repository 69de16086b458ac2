import type { SessionAnnounce, TaskDispatch, Unmet } from '@hermes-fleet/protocol/handshake';
import { isLive, type PeerProfile } from '../peer-profile.ts';
import {
  declaresCapability,
  declaresMcp,
  neededWindow,
  type RoutingQuery,
  takesTasks,
  tierFits,
  tierRange,
} from './eligibility.ts';
import type { RoutingPolicy } from './policy.ts';

/** A peer with its hard reasons. */
export interface Excluded {
  readonly peer: PeerProfile;
  readonly unmet: readonly Unmet[];
}

export interface Unroutable {
  readonly unmet: readonly Unmet[];
  /** True if at least one peer is excluded by transient reasons alone. */
  readonly waitable: boolean;
}

/** Limit of `unmet` in a result. The explanation (`considered`) has the reasons of every peer. */
const MAX_UNMET = 100;
const MAX_NAMES = 20;

/**
 * Explains why no peer can take a dispatch (docs/handshake.md#admission). Requirements that no live peer declares are
 * reported alone, because waiting does not help; otherwise the reasons of each peer.
 */
export function unroutable(excluded: readonly Excluded[], query: RoutingQuery): Unroutable {
  const { dispatch, policy, now } = query;
  const { target = 'auto' } = dispatch.routing ?? {};
  const candidates = excluded
    .filter(({ peer: { name, endpoint } }) => endpoint && name !== policy.self)
    .filter(({ peer: { name } }) => target === 'auto' || target === name)
    .toSorted((a, b) => (a.peer.name < b.peer.name ? -1 : 1));
  if (candidates.length === 0) {
    const nobody = `${policy.self} has no peer: list one under fleet.agents, or let one join`;
    const detail = target === 'auto' ? nobody : `target "${target}" is not a peer of ${policy.self}`;
    return { unmet: [{ kind: 'peer', name: target, detail, transient: false }], waitable: false };
  }
  const live = candidates.filter(({ peer }) => isCandidate(peer, dispatch, now));
  if (live.length === 0 && candidates.every(isSilent)) {
    const detail = `no live peer: ${named(candidates)} not heard of lately`;
    return { unmet: [{ kind: 'peer', name: target, detail, transient: true }], waitable: true };
  }
  const undeclared = undeclaredBy(live, dispatch, policy);
  if (undeclared.length > 0) return { unmet: undeclared, waitable: false };
  const waitable = candidates.some(({ unmet }) => unmet.every(({ transient }) => transient));
  const each = candidates.flatMap(({ peer, unmet }) =>
    unmet.map((entry) => ({ ...entry, detail: `${peer.name}: ${entry.detail}` })),
  );
  return { unmet: each.slice(0, MAX_UNMET), waitable };
}

/** A live worker outside the task's path. Only its declarations count. */
function isCandidate(peer: PeerProfile, dispatch: TaskDispatch, now: number): boolean {
  if (!peer.announce || !takesTasks(peer.announce) || !isLive(peer, now)) return false;
  return !dispatch.task.path?.includes(peer.name);
}

/** True if a peer is excluded only because it is stale or does not answer. */
const isSilent = ({ unmet }: Excluded): boolean =>
  unmet.every(({ kind, transient }) => kind === 'peer' && transient);

function undeclaredBy(live: readonly Excluded[], dispatch: TaskDispatch, policy: RoutingPolicy): Unmet[] {
  const announces = live.flatMap(({ peer }) => (peer.announce ? [peer.announce] : []));
  if (announces.length === 0) return [];
  const nobody = (declares: (announce: SessionAnnounce) => boolean): boolean => !announces.some(declares);
  const who = named(live);
  const { requiredMcp = [], requiredCapabilities = [] } = dispatch.requirements ?? {};
  const unmet: Unmet[] = [];
  const lacking = (kind: Unmet['kind'], name: string, detail: string): void => {
    unmet.push({ kind, name, detail, transient: false });
  };
  for (const name of new Set(requiredMcp))
    if (nobody((announce) => declaresMcp(announce, name)))
      lacking('mcp', name, `required MCP server "${name}" is not declared by any live peer (${who})`);
  for (const name of new Set(requiredCapabilities))
    if (nobody((announce) => declaresCapability(announce, name)))
      lacking('capability', name, `required capability "${name}" is not declared by any live peer (${who})`);
  const range = tierRange(dispatch);
  if (nobody(({ worker }) => tierFits(worker.modelTier, dispatch, policy.tiers)))
    lacking('tier', range, `no live peer (${who}) is of a tier from ${range}`);
  const needed = neededWindow(dispatch, policy.briefTokens);
  if (nobody(({ worker }) => worker.contextWindow >= needed))
    lacking('context', String(needed), `no live peer (${who}) has a context window of ${needed} tokens`);
  return unmet;
}

function named(excluded: readonly Excluded[]): string {
  const names = excluded.slice(0, MAX_NAMES).map(({ peer }) => peer.name);
  const more = excluded.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}
