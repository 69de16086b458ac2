import { type Condition, type TaskDispatch, type Unmet, unmet } from '@hermes-fleet/protocol/handshake';
import { isLive, type PeerProfile } from '../peer-profile.ts';
import { type RoutingQuery, takesTasks } from './eligibility.ts';

/** A peer with its hard reasons. */
export interface Excluded {
  readonly peer: PeerProfile;
  readonly unmet: readonly Unmet[];
}

/** Limit of `unmet` in a result. The explanation (`considered`) has the reasons of every peer. */
const MAX_UNMET = 100;
const MAX_NAMES = 20;

/**
 * Explains why no peer can take a dispatch (docs/handshake.md#admission). Requirements that no live peer declares are
 * reported alone, because waiting does not help; otherwise the reasons of each peer. `waitable`: at least one peer is
 * excluded by transient reasons alone.
 */
export function unroutable(
  excluded: readonly Excluded[],
  query: RoutingQuery,
): { readonly unmet: readonly Unmet[]; readonly waitable: boolean } {
  const { dispatch, policy, now } = query;
  const { target = 'auto' } = dispatch.routing ?? {};
  const candidates = excluded
    .filter(({ peer: { name, endpoint } }) => endpoint && name !== policy.self)
    .filter(({ peer: { name } }) => target === 'auto' || target === name)
    .toSorted((a, b) => (a.peer.name < b.peer.name ? -1 : 1));
  if (candidates.length === 0) {
    const nobody = `${policy.self} has no peer: list one under fleet.agents, or let one join`;
    const detail = target === 'auto' ? nobody : `target "${target}" is not a peer of ${policy.self}`;
    return { unmet: unmet('peer', target, detail), waitable: false };
  }
  const live = candidates.filter(({ peer }) => isCandidate(peer, dispatch, now));
  if (live.length === 0 && candidates.every(isSilent)) {
    const detail = `no live peer: ${named(candidates)} not heard of lately`;
    return { unmet: unmet('peer', target, detail, true), waitable: true };
  }
  const undeclared = undeclaredByAll(live, query);
  if (undeclared.length > 0) return { unmet: undeclared, waitable: false };
  const waitable = candidates.some((each) => each.unmet.every(({ transient }) => transient));
  return { unmet: candidates.flatMap(namedUnmet).slice(0, MAX_UNMET), waitable };
}

/** What is unmet at a peer, with the peer's name in each text. */
export const namedUnmet = ({ peer, unmet: found }: Excluded): Unmet[] =>
  found.map((entry) => ({ ...entry, detail: `${peer.name}: ${entry.detail}` }));

/** A live worker outside the task's path. Only its declarations count. */
function isCandidate(peer: PeerProfile, dispatch: TaskDispatch, now: number): boolean {
  if (!peer.announce || !takesTasks(peer.announce) || !isLive(peer, now)) return false;
  return !dispatch.task.path?.includes(peer.name);
}

/** True if a peer is excluded only because it is stale or does not answer. */
const isSilent = ({ unmet }: Excluded): boolean =>
  unmet.every(({ kind, transient }) => kind === 'peer' && transient);

function undeclaredByAll(live: readonly Excluded[], { conditions }: RoutingQuery): Unmet[] {
  const announces = live.flatMap(({ peer }) => (peer.announce ? [peer.announce] : []));
  const isDeclared = (condition: Condition): boolean =>
    announces.some(({ worker, capabilities, mcpHealth }) => {
      const facts = { worker, capabilities, mcpHealth };
      return condition.isDeclared?.(facts) ?? condition.unmet(facts).length === 0;
    });
  if (announces.length === 0) return [];
  return conditions
    .filter((condition) => !isDeclared(condition))
    .flatMap(({ kind, name, what }) =>
      unmet(kind, name, `required ${what} is not declared by any live peer (${named(live)})`),
    );
}

function named(excluded: readonly Excluded[]): string {
  const names = excluded.slice(0, MAX_NAMES).map(({ peer }) => peer.name);
  const more = excluded.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}
