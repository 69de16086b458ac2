import {
  capacityOf,
  exclusionReasons,
  measureBrief,
  type PeerProfile,
  type PeerRegistry,
  type RoutingDecision,
  type RoutingPolicy,
  route,
} from '@hermes-fleet/peers';
import {
  type AdmittedTask,
  backoffMs,
  type Clock,
  type TaskDispatch,
  type Unmet,
} from '@hermes-fleet/protocol';
import { isInForce } from './refusal.ts';
import type { RelayedRun } from './relayed-run.ts';
import type { Reservation } from './reservation.ts';

/** The interval of routing checks without any announce: from 1 s up to 30 s. */
const CHECK_BACKOFF = { firstMs: 2_000, longestMs: 30_000 };
const MIN_CHECK_DELAY_MS = 50;
/** A task that waits this long for a slot may queue at a peer that others keep busy, ms. */
const QUEUES_AFTER_MS = 1_000;
/** Bounds the unmet requirements in a result. */
const MAX_UNMET = 100;

export interface PeerSelectionOptions {
  readonly peers: Pick<PeerRegistry, 'list' | 'get'>;
  readonly clock: Clock;
  readonly policy: RoutingPolicy;
  readonly random: () => number;
  /** The peer that has the workspace and the conversation of the task's context. */
  readonly homeOf: (task: AdmittedTask) => string | undefined;
  /** How long a task waits for its home, ms; at most half of the time until its deadline. */
  readonly patienceMs: number;
}

/** Selects the peer for a relayed task from the current state of all peers. */
export interface PeerSelection {
  /** Estimates the brief's tokens for each peer. Call it before a routing decision that counts. */
  measureBrief(): Promise<void>;
  /** Routes the task now. With `reserve`, it reserves capacity at the chosen peer before any other task is routed. */
  route(reserve: boolean): RoutingDecision;
  /** True when every obstacle of some peer is transient (docs/handshake.md#waiting). */
  mayWait(decision: RoutingDecision): boolean;
  /** True when at most a free slot was missing at this peer at the last call of `mayWait`. */
  waitsForCapacityOf(peer: string): boolean;
  /** True when a free slot was all that was missing at some peer at the last call of `mayWait`. */
  readonly isQueued: boolean;
  /** The peer that has the task's context; undefined for a context that begins. */
  readonly home: string | undefined;
  /** The peer that was chosen last has no free slot: the task waits there for its turn. */
  readonly mustQueue: boolean;
  /** The time when routing may change without an announce, ms since the epoch. */
  nextCheckAt(): number;
  /** The unmet requirements of each peer. */
  unmet(decision: RoutingDecision): Unmet[];
}

export function createPeerSelection(
  options: PeerSelectionOptions,
  run: RelayedRun,
  reservation: Reservation,
): PeerSelection {
  const { peers, clock, random } = options;
  const { dispatch } = run.task;
  const home = options.homeOf(run.task);
  let briefTokens = 0;
  let checks = 0;
  let atCapacity: ReadonlySet<string> = new Set();
  let isQueued = false;
  let mustQueue = false;

  const refusalsInForce = (now: number) =>
    run.state.refusals.filter((refusal) => isInForce(refusal, peers.get(refusal.peer), now));
  const routingContext = (now: number) => {
    const excluded = new Map(refusalsInForce(now).map(({ peer, reason }) => [peer, reason]));
    const { waiting } = run.state;
    const mayQueue = waiting !== undefined && waiting.since + QUEUES_AFTER_MS <= now;
    const policy = { ...options.policy, briefTokens, excluded, mayQueue };
    return { dispatch, now, policy: { ...policy, home: homeFor({ dispatch, now, policy }) } };
  };

  /** The home, as long as the task waits for it: it can take the task, now or when it has a free slot. */
  function homeFor(query: {
    dispatch: TaskDispatch;
    now: number;
    policy: RoutingPolicy;
  }): string | undefined {
    const peer = home === undefined ? undefined : peers.get(home);
    if (!peer || query.now >= patientUntil()) return undefined;
    const reasons = exclusionReasons(peer, query);
    const mayWait = run.onBlocked !== 'fail' && dispatch.routing?.whenFull !== 'refuse';
    return reasons.length === 0 || (mayWait && reasons.every(({ kind }) => kind === 'capacity'))
      ? home
      : undefined;
  }

  function patientUntil(): number {
    const since = run.state.waiting?.since ?? run.startedAt;
    const { deadlineAt = Number.POSITIVE_INFINITY } = run.task;
    return since + Math.min(options.patienceMs, (deadlineAt - since) / 2);
  }

  /** Peers that nothing excludes, or only transient reasons. */
  function candidatesNowOrLater(now: number): { peer: PeerProfile; unmet: readonly Unmet[] }[] {
    const context = routingContext(now);
    const lost = new Set(refusalsInForce(now).flatMap(({ peer, transient }) => (transient ? [] : [peer])));
    return peers
      .list()
      .filter(({ name }) => !lost.has(name))
      .map((peer) => ({ peer, unmet: exclusionReasons(peer, context) }))
      .filter(({ unmet }) => unmet.every(({ transient }) => transient));
  }

  return {
    async measureBrief() {
      briefTokens = await measureBrief(dispatch, peers.list());
    },
    route(reserve) {
      reservation.release();
      const now = clock.now();
      const decision = route(dispatch, peers.list(), routingContext(now).policy, now);
      if (reserve && decision.chosen !== undefined) {
        const peer = peers.get(decision.chosen);
        mustQueue = peer !== undefined && capacityOf(peer, now).free <= 0;
        reservation.hold(decision.chosen);
      }
      return decision;
    },
    mayWait({ chosen, waitable }) {
      // A waiting task keeps waiting while its peer is silent. A new task is judged by what routing knows now.
      const isReasonable = run.state.waiting !== undefined || chosen !== undefined || waitable;
      const candidates = candidatesNowOrLater(clock.now());
      const full = candidates.filter(({ unmet }) => unmet.every(({ kind }) => kind === 'capacity'));
      atCapacity = new Set(full.map(({ peer }) => peer.name));
      isQueued = full.some(({ unmet }) => unmet.length > 0);
      return isReasonable && candidates.length > 0;
    },
    waitsForCapacityOf: (peer) => atCapacity.has(peer),
    get isQueued() {
      return isQueued;
    },
    home,
    get mustQueue() {
      return mustQueue;
    },
    nextCheckAt() {
      const now = clock.now();
      checks += 1;
      const known = [
        ...run.state.refusals.flatMap(({ until, silentUntil }) => [until, silentUntil ?? 0]),
        ...peers.list().flatMap(({ circuitOpenUntil, slots }) => [circuitOpenUntil, slots?.fullUntil ?? 0]),
        (run.state.waiting?.since ?? 0) + QUEUES_AFTER_MS,
        home === undefined ? 0 : patientUntil(),
      ].filter((at) => at > now);
      const regular = now + backoffMs(checks, { ...CHECK_BACKOFF, random });
      return Math.max(Math.min(regular, ...known), now + MIN_CHECK_DELAY_MS);
    },
    unmet({ unmet }) {
      const { refusals } = run.state;
      if (refusals.length === 0) return unmet.slice(0, MAX_UNMET);
      const refused = refusals.flatMap(({ peer, reason, unmet: theirs, transient }) =>
        theirs.length > 0
          ? theirs.map((entry) => ({ ...entry, detail: `${peer}: ${entry.detail}` }))
          : [{ kind: 'peer' as const, name: peer, detail: `${peer}: ${reason}`, transient }],
      );
      const others = candidatesNowOrLater(clock.now())
        .filter(({ peer }) => !refusals.some((refusal) => refusal.peer === peer.name))
        .flatMap(({ peer, unmet: reasons }) =>
          reasons.map((entry) => ({ ...entry, detail: `${peer.name}: ${entry.detail}` })),
        );
      return [...refused, ...others].slice(0, MAX_UNMET);
    },
  };
}
