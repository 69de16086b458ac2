import {
  capacityOf,
  type Excluded,
  exclusionReasons,
  measureBrief,
  namedUnmet,
  type PeerRegistry,
  type RoutingDecision,
  type RoutingPolicy,
  type RoutingQuery,
  reasonInEvent,
  route,
  routingQuery,
} from '@hermes-fleet/peers';
import { conditionsOf, isWriteTask, type Unmet } from '@hermes-fleet/protocol/handshake';
import type { AdmittedTask, Clock } from '@hermes-fleet/protocol/ports';
import type { Needs, Outlook } from '@hermes-fleet/tasks';
import { isInForce } from './refusal.ts';
import type { RelayedRun } from './relayed-run.ts';

/** A task that waits this long for a slot may queue at a peer that others keep busy, ms. */
const QUEUES_AFTER_MS = 1_000;
/** Bounds the unmet requirements in a result. */
const MAX_UNMET = 100;

export interface PeerSelectionOptions {
  readonly peers: Pick<PeerRegistry, 'list' | 'get'>;
  readonly clock: Clock;
  readonly policy: RoutingPolicy;
  /** The peer that has the workspace and the conversation of the task's context. */
  readonly homeOf: (task: AdmittedTask) => string | undefined;
  /** How long a task waits for its home, ms; at most half of the time until its deadline. */
  readonly patienceMs: number;
}

export type PeerSelection = ReturnType<typeof createPeerSelection>;

const onlyCapacity = ({ unmet }: Excluded): boolean => unmet.every(({ kind }) => kind === 'capacity');

/** Selects the peer for a relayed task from the current state of all peers. */
export function createPeerSelection(options: PeerSelectionOptions, run: RelayedRun) {
  const { peers, clock } = options;
  const { dispatch } = run.task;
  const home = options.homeOf(run.task);
  const { modelTier } = dispatch.requirements ?? {};
  const required = [
    ...conditionsOf(dispatch.requirements, options.policy.tiers).map(({ what }) => what),
    [modelTier?.min, modelTier?.max].join(),
  ];
  let briefTokens = 0;

  const refusalsInForce = (now: number) =>
    run.state.refusals.filter((refusal) => isInForce(refusal, peers.get(refusal.peer), now));
  /** Peers that will not take the task, however long it waits. */
  const lostPeers = (now: number) =>
    new Set(refusalsInForce(now).flatMap(({ peer, transient }) => (transient ? [] : [peer])));
  /** With `queue`, a task asks no peer until the one that refused it for the moment announces itself, or may be asked again. */
  function isHeldOff(now: number): boolean {
    const last = run.onBlocked === 'queue' ? run.state.refusals.at(-1) : undefined;
    if (!last?.transient || last.unmet.length === 0) return false;
    return now < last.until && (peers.get(last.peer)?.receivedAt ?? 0) <= last.at;
  }

  function queryAt(now: number, mayQueue: boolean): RoutingQuery {
    const excluded = new Map(refusalsInForce(now).map(({ peer, reason }) => [peer, reason]));
    const policy: RoutingPolicy = { ...options.policy, briefTokens, excluded, mayQueue };
    const query = routingQuery(dispatch, policy, now);
    return { ...query, policy: { ...policy, home: homeFor(query) } };
  }

  /** The home, as long as the task waits for it: it can take the task, now or when it has a free slot. */
  function homeFor(query: RoutingQuery): string | undefined {
    const peer = home === undefined || query.now >= patientUntil() ? undefined : peers.get(home);
    if (!peer) return undefined;
    const unmet = exclusionReasons(peer, query);
    const mayWait = run.onBlocked !== 'fail' && dispatch.routing?.whenFull !== 'refuse';
    return unmet.length === 0 || (mayWait && onlyCapacity({ peer, unmet })) ? home : undefined;
  }

  function patientUntil(): number {
    const since = run.state.waiting?.since ?? run.startedAt;
    const { deadlineAt = Number.POSITIVE_INFINITY } = run.task;
    return since + Math.min(options.patienceMs, (deadlineAt - since) / 2);
  }

  /** Peers that nothing excludes, or only transient reasons. */
  function candidatesNowOrLater(now: number): Excluded[] {
    const query = queryAt(now, false);
    const lost = lostPeers(now);
    return peers
      .list()
      .filter(({ name }) => !lost.has(name))
      .map((peer) => ({ peer, unmet: exclusionReasons(peer, query) }))
      .filter(({ unmet }) => unmet.every(({ transient }) => transient));
  }

  /** The smallest window of a peer that is large enough, so that briefs of about the same length are one class. */
  function windowFor(needed: number): number {
    const windows = peers.list().map(({ announce }) => announce?.worker.contextWindow ?? 0);
    return Math.min(...windows.filter((window) => window >= needed));
  }

  function roomAfterMs(names: readonly string[]): number {
    let after = Number.POSITIVE_INFINITY;
    for (const name of names) {
      const peer = peers.get(name);
      const { free = 0, mayQueue = false } = peer ? capacityOf(peer, clock.now(), options.policy.buffer) : {};
      if (free > 0) return 0;
      if (mayQueue) after = QUEUES_AFTER_MS;
    }
    return after;
  }

  return {
    /** Estimates the brief's tokens for each peer. Call it before a routing decision that counts. */
    async measureBrief(): Promise<void> {
      briefTokens = await measureBrief(dispatch, peers.list());
    },
    /** Routes the task. `mayQueue`: it may wait in the queue of a peer that others keep busy. */
    route: (now: number, mayQueue: boolean): RoutingDecision =>
      route(dispatch, peers.list(), queryAt(now, mayQueue).policy, now),
    /** True if a task that has waited for so long may wait in the queue of a peer. */
    mayQueueAfter: (waitedMs: number): boolean => waitedMs >= QUEUES_AFTER_MS,
    hasFreeSlot(name: string, now: number): boolean {
      const peer = peers.get(name);
      return peer !== undefined && capacityOf(peer, now).free > 0;
    },
    /** True when every obstacle of some peer is transient (docs/handshake.md#waiting). */
    mayWait({ chosen, waitable }: RoutingDecision): boolean {
      // A waiting task keeps waiting while its peer is silent. A new task is judged by what routing knows now.
      const isReasonable = run.state.waiting !== undefined || chosen !== undefined || waitable;
      return isReasonable && candidatesNowOrLater(clock.now()).length > 0;
    },
    /** The needs that decide where the task can go, and so its class (docs/handshake.md#scheduling). */
    needs(now: number): Needs {
      const { routing, task } = dispatch;
      const inForce = refusalsInForce(now);
      const isPatient = home !== undefined && now < patientUntil();
      const key = JSON.stringify([
        routing?.target ?? 'auto',
        required,
        briefTokens === 0 ? 0 : windowFor(briefTokens),
        [isWriteTask(dispatch), task.write, task.path],
        inForce.map(({ peer, transient }) => [peer, transient]),
        isHeldOff(now),
        isPatient ? [home, run.onBlocked === 'fail' || routing?.whenFull === 'refuse'] : [],
      ]);
      // A refusal that is not in force any more stays so.
      if (inForce.length === 0 && !isPatient && briefTokens === 0) return { key };
      const ends = inForce.flatMap(({ until, silentUntil = 0 }) => [until, silentUntil]);
      const until = Math.min(...[...ends, isPatient ? patientUntil() : 0].filter((at) => at > now));
      return { key, until };
    },
    /** Where tasks with the same needs can go. */
    look(now: number): Outlook {
      const candidates = candidatesNowOrLater(now);
      const able = isHeldOff(now) ? [] : candidates.filter(onlyCapacity).map(({ peer }) => peer.name);
      const changes = peers
        .list()
        .flatMap(({ circuitOpenUntil, slots }) => [circuitOpenUntil, slots?.fullUntil ?? 0])
        .filter((at) => at > now);
      const other = candidates.length > 0 ? 'waiting' : 'hopeless';
      return {
        verdict: able.length > 0 ? 'queued' : other,
        roomAfterMs: () => roomAfterMs(able),
        changesAt: Math.min(...changes),
      };
    },
    /** The peer that has the task's context; undefined for a context that begins. */
    home,
    /** True if the task cannot go on in the repository of its context. Elsewhere it would begin without the work of the context. */
    isRefusedAtHome: (): boolean =>
      run.state.refusals.some(
        ({ peer, unmet }) =>
          peer === home && unmet.some(({ kind, transient }) => kind === 'repo' && !transient),
      ),
    /**
     * What the task waits for at the first peer that may take it later, with the first requirement that this peer has refused it
     * for; undefined if only its pause after a refusal is left.
     */
    waitsFor({ chosen }: RoutingDecision): Pick<Unmet, 'kind' | 'detail'> | undefined {
      if (chosen !== undefined) return othersFirst(chosen);
      const now = clock.now();
      const [first] = candidatesNowOrLater(now);
      const [entry] = first?.unmet ?? [];
      if (!first || !entry) return undefined;
      const { name } = first.peer;
      const refused = refusalsInForce(now).find(({ peer }) => peer === name)?.unmet[0];
      const { kind, detail } = refused ?? entry;
      return { kind, detail: `${name}: ${reasonInEvent(detail)}` };
    },
    /** The unmet requirements of each peer. */
    unmet({ unmet, chosen }: RoutingDecision): Unmet[] {
      const { refusals } = run.state;
      if (refusals.length === 0)
        return chosen === undefined ? unmet.slice(0, MAX_UNMET) : [othersFirst(chosen)];
      const refused = refusals.flatMap(({ peer, reason, unmet: theirs, transient }) =>
        theirs.length > 0
          ? theirs.map((entry) => ({ ...entry, detail: `${peer}: ${entry.detail}` }))
          : [{ kind: 'peer' as const, name: peer, detail: `${peer}: ${reason}`, transient }],
      );
      const others = candidatesNowOrLater(clock.now())
        .filter(({ peer }) => !refusals.some((refusal) => refusal.peer === peer.name))
        .flatMap(namedUnmet);
      return [...refused, ...others].slice(0, MAX_UNMET);
    },
  };
}

/** A peer has a slot, and the task does not get it. */
function othersFirst(peer: string): Unmet {
  const detail = `${peer}: others have waited longer for its next place or are more urgent, or as many tasks as allowed are with peers (fleet.limits.max_relayed_tasks)`;
  return { kind: 'capacity', name: peer, detail, transient: true };
}
