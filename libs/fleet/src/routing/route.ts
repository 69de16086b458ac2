import type { SessionAnnounce, TaskDispatch, Unmet } from '@hermes-fleet/protocol';
import { isLive, type PeerProfile } from '../peers/profile.ts';
import { declaresCapability, declaresMcp, exclusions, tierFits, tierRange } from './exclusion.ts';
import type { RoutingPolicy } from './policy.ts';
import { rendezvousWeight } from './rendezvous.ts';
import { scoreOf } from './score.ts';

export interface Considered {
  readonly peer: string;
  readonly verdict: 'chosen' | 'eligible' | 'excluded';
  readonly reasons: readonly string[];
  /** Higher is better; 0 for an excluded peer. */
  readonly score: number;
}

export interface RoutingDecision {
  readonly chosen: string | undefined;
  /** Every peer, best first, and why. */
  readonly considered: readonly Considered[];
  /** Why nobody was chosen; empty when somebody was. Not transient = waiting is pointless. */
  readonly unmet: readonly Unmet[];
  /** Whether some peer could take it later as it stands: all that rules it out may pass. False when somebody was chosen. */
  readonly waitable: boolean;
}

/**
 * Where a dispatch goes. Pure: hard reasons exclude, soft ones score, ties break by rendezvous hashing of the task id,
 * the order of the peers does not matter, and it explains itself (design 2, Routing).
 */
export function route(
  dispatch: TaskDispatch,
  peers: readonly PeerProfile[],
  policy: RoutingPolicy,
  now: number,
): RoutingDecision {
  const judged = peers.map((peer) => judge(peer, { dispatch, policy, now }));
  const best = judged.reduce<Judged | undefined>(
    (top, next) => (next.eligible && (!top || beats(next, top, dispatch.task.taskId)) ? next : top),
    undefined,
  );
  const considered = judged
    .toSorted((a, b) => rank(b, best) - rank(a, best) || b.score - a.score || (a.peer < b.peer ? -1 : 1))
    .map(
      ({ peer, eligible, reasons, score }): Considered => ({
        peer,
        verdict: peer === best?.peer ? 'chosen' : eligible ? 'eligible' : 'excluded',
        reasons,
        score,
      }),
    );
  const unmet = best ? [] : unroutable(dispatch, peers, judged, policy, now);
  const someday = judged.some(({ unmet: reasons }) => reasons.every(({ transient }) => transient));
  return {
    chosen: best?.peer,
    considered,
    unmet,
    waitable: !best && someday && unmet.some(({ transient }) => transient),
  };
}

interface Judged {
  readonly peer: string;
  readonly eligible: boolean;
  readonly unmet: readonly Unmet[];
  readonly reasons: readonly string[];
  readonly score: number;
}

function judge(
  peer: PeerProfile,
  question: { dispatch: TaskDispatch; policy: RoutingPolicy; now: number },
): Judged {
  const unmet = exclusions(peer, question);
  if (unmet.length > 0 || !peer.announce)
    return { peer: peer.name, eligible: false, unmet, reasons: unmet.map(({ detail }) => detail), score: 0 };
  const { score, notes } = scoreOf(peer, peer.announce, question.dispatch, question.policy);
  return { peer: peer.name, eligible: true, unmet, reasons: notes, score };
}

function beats(a: Judged, b: Judged, taskId: string): boolean {
  if (a.score !== b.score) return a.score > b.score;
  const [weightA, weightB] = [rendezvousWeight(taskId, a.peer), rendezvousWeight(taskId, b.peer)];
  return weightA === weightB ? a.peer < b.peer : weightA > weightB;
}

function rank(judged: Judged, best: Judged | undefined): number {
  if (judged === best) return 2;
  return judged.eligible ? 1 : 0;
}

/**
 * Why nobody can take it. What no live peer declares at all comes first and alone, since nothing that changes soon
 * helps; else each peer's own reasons.
 */
function unroutable(
  dispatch: TaskDispatch,
  peers: readonly PeerProfile[],
  judged: readonly Judged[],
  policy: RoutingPolicy,
  now: number,
): Unmet[] {
  const { target } = dispatch.routing ?? {};
  const named = target !== undefined && target !== 'auto' ? target : undefined;
  if (named !== undefined && !peers.some(({ name, endpoint }) => name === named && endpoint))
    return [unmetPeer(named, `target "${named}" is not a peer of ${policy.self}`, false)];
  const candidates = peers.filter(({ name, endpoint }) => endpoint && (named ?? name) === name);
  const live = candidates.filter((peer) => isLive(peer, now) && peer.name !== policy.self);
  if (live.length === 0) {
    const who = candidates
      .map(({ name }) => name)
      .sort()
      .join(', ');
    return [
      unmetPeer(
        named ?? 'auto',
        who ? `no live peer: ${who} not heard of lately` : 'no peer is configured',
        who !== '',
      ),
    ];
  }
  const undeclared = undeclaredBy(live, dispatch, policy);
  if (undeclared.length > 0) return undeclared;
  return judged
    .filter(({ peer }) => candidates.some(({ name }) => name === peer))
    .toSorted((a, b) => (a.peer < b.peer ? -1 : 1))
    .flatMap(({ peer, unmet }) => unmet.map((entry) => ({ ...entry, detail: `${peer}: ${entry.detail}` })));
}

function undeclaredBy(live: readonly PeerProfile[], dispatch: TaskDispatch, policy: RoutingPolicy): Unmet[] {
  const announces = live.flatMap(({ announce }) => (announce ? [announce] : []));
  const names = live
    .map(({ name }) => name)
    .sort()
    .join(', ');
  const nobody = (declares: (announce: SessionAnnounce) => boolean): boolean => !announces.some(declares);
  const { requiredMcp = [], requiredCapabilities = [] } = dispatch.requirements ?? {};
  const mcp = requiredMcp
    .filter((name) => nobody((announce) => declaresMcp(announce, name)))
    .map((name) => ({
      kind: 'mcp' as const,
      name,
      detail: `required MCP server "${name}" is not declared by any live peer (${names})`,
      transient: false,
    }));
  const capabilities = requiredCapabilities
    .filter((name) => nobody((announce) => declaresCapability(announce, name)))
    .map((name) => ({
      kind: 'capability' as const,
      name,
      detail: `required capability "${name}" is not declared by any live peer (${names})`,
      transient: false,
    }));
  const tier = nobody(({ worker }) => tierFits(worker.modelTier, dispatch, policy.tiers))
    ? [
        {
          kind: 'tier' as const,
          name: tierRange(dispatch),
          detail: `no live peer (${names}) is of a tier from ${tierRange(dispatch)}`,
          transient: false,
        },
      ]
    : [];
  return [...mcp, ...capabilities, ...tier];
}

function unmetPeer(name: string, detail: string, transient: boolean): Unmet {
  return { kind: 'peer', name, detail, transient };
}
