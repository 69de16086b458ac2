import type { PeerProfile, PeerRegistry, RoutingPolicy } from '@hermes-fleet/peers';
import { exclusionReasons, measureBrief, type RoutingDecision, route } from '@hermes-fleet/peers';
import { backoffMs, type Clock, type Unmet } from '@hermes-fleet/protocol';
import type { Course } from './course.ts';
import { isHeld } from './refusal.ts';
import type { Seat } from './seat.ts';

/** How often routing is asked again though nobody announced anything: after 1 s, up to 30 s. */
const LOOKS = { firstMs: 2_000, longestMs: 30_000 };
const SOONEST_LOOK_MS = 50;
/** What a result can hold of it. */
const MAX_MISSING = 100;

export interface ChoiceOptions {
  readonly peers: Pick<PeerRegistry, 'list' | 'get'>;
  readonly clock: Clock;
  readonly policy: RoutingPolicy;
  readonly random: () => number;
}

/** Who may take a relayed task now, seen anew at every question. */
export interface Choice {
  /** Measures the brief against the peers; to be called before a choice that counts. */
  measure(): Promise<void>;
  /** Where the task goes now. `take`s the seat at the chosen peer in the same turn, so that the next task sees it. */
  decide(take: boolean): RoutingDecision;
  /** Whether waiting may help: only what is transient may pass (design 2, Blocked). */
  mayWait(decision: RoutingDecision): boolean;
  /** Whether a place at this peer is all that was missing when it was last asked whether to wait. */
  waitsFor(peer: string): boolean;
  /** When something may be different without anybody saying so, ms since the epoch. */
  nextLook(): number;
  /** What stands in the way, peer by peer. */
  missing(decision: RoutingDecision): Unmet[];
}

export function createChoice(o: ChoiceOptions, course: Course, seat: Seat): Choice {
  const { dispatch } = course.task;
  let briefTokens = 0;
  let looks = 0;
  let full: ReadonlySet<string> = new Set();

  const held = (now: number) =>
    course.state.refusals.filter((refusal) => isHeld(refusal, o.peers.get(refusal.peer), now));
  const question = (now: number) => {
    const excluded = new Map(held(now).map(({ peer, reason }) => [peer, reason]));
    return { dispatch, now, policy: { ...o.policy, briefTokens, excluded } };
  };

  /** Peers that nothing but transient reasons rule out. */
  function hopeful(now: number): { peer: PeerProfile; unmet: readonly Unmet[] }[] {
    const asked = question(now);
    const lost = new Set(held(now).flatMap(({ peer, transient }) => (transient ? [] : [peer])));
    return o.peers
      .list()
      .filter(({ name }) => !lost.has(name))
      .map((peer) => ({ peer, unmet: exclusionReasons(peer, asked) }))
      .filter(({ unmet }) => unmet.every(({ transient }) => transient));
  }

  return {
    async measure() {
      briefTokens = await measureBrief(dispatch, o.peers.list());
    },
    decide(take) {
      seat.leave();
      const now = o.clock.now();
      const decision = route(dispatch, o.peers.list(), question(now).policy, now);
      if (take && decision.chosen !== undefined) seat.take(decision.chosen);
      return decision;
    },
    mayWait({ chosen, waitable }) {
      // A task that waits already outlives that its peer is silent for a while; a new one is judged as it stands.
      const sensible = course.state.waiting !== undefined || chosen !== undefined || waitable;
      const hopes = hopeful(o.clock.now());
      const placeless = hopes.filter(({ unmet }) => unmet.every(({ kind }) => kind === 'capacity'));
      full = new Set(placeless.map(({ peer }) => peer.name));
      return sensible && hopes.length > 0;
    },
    waitsFor: (peer) => full.has(peer),
    nextLook() {
      const now = o.clock.now();
      looks += 1;
      const known = [
        ...course.state.refusals.flatMap(({ until, silentUntil }) => [until, silentUntil ?? 0]),
        ...o.peers.list().map(({ circuitOpenUntil }) => circuitOpenUntil),
      ].filter((at) => at > now);
      const regular = now + backoffMs(looks, { ...LOOKS, random: o.random });
      return Math.max(Math.min(regular, ...known), now + SOONEST_LOOK_MS);
    },
    missing({ unmet }) {
      const { refusals } = course.state;
      if (refusals.length === 0) return unmet.slice(0, MAX_MISSING);
      const refused = refusals.flatMap(({ peer, reason, unmet: theirs, transient }) =>
        theirs.length > 0
          ? theirs.map((entry) => ({ ...entry, detail: `${peer}: ${entry.detail}` }))
          : [{ kind: 'peer' as const, name: peer, detail: `${peer}: ${reason}`, transient }],
      );
      const others = hopeful(o.clock.now())
        .filter(({ peer }) => !refusals.some((refusal) => refusal.peer === peer.name))
        .flatMap(({ peer, unmet: reasons }) =>
          reasons.map((entry) => ({ ...entry, detail: `${peer.name}: ${entry.detail}` })),
        );
      return [...refused, ...others].slice(0, MAX_MISSING);
    },
  };
}
