import type { RoutingDecision } from '@hermes-fleet/peers';
import { type Unmet, unmet as unmetOf } from '@hermes-fleet/protocol/handshake';
import { type Clock, inSpan, type RunOutcome, type Tracing } from '@hermes-fleet/protocol/ports';
import { callAt, type Lane, type Outlook } from '@hermes-fleet/tasks';
import { unmetKinds } from './attempt-history.ts';
import { returnBlocked } from './blocked-outcome.ts';
import type { PeerSelection } from './peer-selection.ts';
import type { Placement } from './placement.ts';
import type { RelayState } from './relay-state.ts';
import type { RelayedRun } from './relayed-run.ts';

export interface AwaitPlaceOptions {
  /** The lane in which the task waits. */
  readonly lane: Lane;
  readonly clock: Clock;
  /** How long a task without a deadline waits while no peer could take it, ms. A longer wait raises an alert. */
  readonly maxWaitMs: number;
  readonly tracing?: Tracing | undefined;
}

/** The state from which a search for a free slot continues. */
export interface PlaceSearch {
  /** This process has already reported that the task waits. */
  readonly reported: boolean;
  /** The parent of the span of a wait. */
  readonly traceparent: string | undefined;
}

/** A peer with a slot that is reserved for the task. */
export interface Placed {
  readonly decision: RoutingDecision;
  readonly peer: string;
  /** The peer has no free slot: the task waits there for its turn. */
  readonly mustQueue: boolean;
  /** The kind of the obstacle that the task waited for. */
  readonly waitedFor?: Unmet['kind'];
}

/**
 * Queues a task for a peer, and keeps it waiting until it has a slot at one (docs/handshake.md#waiting). Returns a blocked
 * outcome if the task may not wait, or if no peer could take it for too long. The time in which a peer could take it but
 * for a free slot is not limited, and a restart does not reset the rest. Throws the reasons of the run's signals.
 */
export async function awaitPlace(
  options: AwaitPlaceOptions,
  run: RelayedRun,
  selection: PeerSelection,
  placement: Placement,
  { reported, traceparent }: PlaceSearch,
): Promise<Placed | RunOutcome> {
  const { context } = run;
  const signal = AbortSignal.any([context.signal, context.stopping]);
  signal.throwIfAborted();
  const search = startSearch(options.clock, selection, placement);
  const abort = (): void => search.fail(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    const first = await search.next();
    if ('peer' in first) {
      if (run.state.waiting?.queued === false) trackWait(options, run, true).end();
      return first;
    }
    const decision = selection.route(options.clock.now(), false);
    const unmet = selection.unmet(decision);
    const isHopeless = first.verdict === 'hopeless' || !selection.mayWait(decision);
    // A task that waited or was refused before, or that waited for its context, fits always.
    const isNew = isNewTask(run.state) && !placement.ticket.cameByContext;
    const isCrowded = isNew && options.lane.isCrowdedFor(run.task.caller.name);
    if (isHopeless || isCrowded || run.onBlocked === 'fail') {
      const placed = search.stop();
      if (placed) return placed;
      const detail = `${options.lane.limits.depth} tasks wait for a peer already (fleet.queue.max_waiting)`;
      const full = isCrowded ? unmetOf('capacity', 'waiting', detail, true) : [];
      return returnBlocked(run, [...full, ...unmet]);
    }
    const wait = trackWait(options, run, first.verdict === 'queued');
    wait.observe(first.verdict === 'queued');
    const saved = Promise.all([wait.saved(), run.flush()]);
    if (!reported) reportWait(run, wait, unmet, selection.waitsFor(decision));
    await Promise.all([saved, run.flush()]);
    const start = { parent: traceparent, attributes: { 'hermes.wait.for': unmetKinds(unmet) } };
    const found = await inSpan(options.tracing, 'wait for a peer', start, async (span) => {
      const ended = await waitInLine(options, run, search, wait, unmet);
      span?.set({ 'hermes.wait.outcome': typeof ended === 'string' ? ended : 'placed' });
      return ended;
    });
    const placed = typeof found === 'string' ? search.stop() : found;
    if (placed) {
      wait.end();
      return { ...placed, waitedFor: unmetKinds(unmet)[0] ?? 'peer' };
    }
    await wait.saved();
    const reasons = selection.unmet(selection.route(options.clock.now(), false));
    if (found === 'hopeless') return returnBlocked(run, reasons);
    const why = `nobody could take it within the ${Math.round(options.maxWaitMs / 1000)} s that it may wait`;
    return returnBlocked(run, reasons, why);
  } finally {
    signal.removeEventListener('abort', abort);
    placement.ticket.leave();
  }
}

/** Waits for a slot, until no peer can take the task any more, or none could for too long. */
async function waitInLine(
  { clock, maxWaitMs }: AwaitPlaceOptions,
  { task, context }: RelayedRun,
  search: Search,
  wait: ReturnType<typeof trackWait>,
  unmet: readonly Unmet[],
): Promise<Placed | 'hopeless' | 'too long'> {
  const lateAt = wait.current().since + maxWaitMs;
  for (;;) {
    // The deadline ends the run.
    const endsAt = task.deadlineAt === undefined ? wait.endsAt() : Number.POSITIVE_INFINITY;
    const { alerted } = wait.current();
    const found = await search.next(Math.min(endsAt, alerted ? endsAt : lateAt));
    if ('peer' in found) return found;
    if (found.verdict === 'hopeless') return 'hopeless';
    if (found.verdict !== 'late') {
      wait.observe(found.verdict === 'queued');
      continue;
    }
    if (task.deadlineAt === undefined && wait.endsAt() <= clock.now()) return 'too long';
    if (!alerted) {
      const waited_s = Math.round((clock.now() - wait.current().since) / 1000);
      const data = { reason: 'waiting_too_long', unmet: unmetKinds(unmet), waited_s };
      await context.reportEvent({ type: 'alert', data });
      wait.setAlerted();
    }
  }
}

type Found = Placed | { readonly verdict: Outlook['verdict'] | 'late' };

interface Search {
  /** Resolves with a place, with a verdict that is new, or with `late` at this time. */
  next(until?: number): Promise<Found>;
  fail(reason: unknown): void;
  /** Ends the search. Returns a place that it found in the meantime. */
  stop(): Placed | undefined;
}

function startSearch(clock: Clock, selection: PeerSelection, placement: Placement): Search {
  let news: Found | undefined;
  let failure: { readonly reason: unknown } | undefined;
  let wake = Promise.withResolvers<void>();
  const tell = (found: Found): void => {
    news = found;
    wake.resolve();
  };
  const fail = (reason: unknown): void => {
    failure ??= { reason };
    wake.resolve();
  };
  let decision: RoutingDecision | undefined;
  let mustQueue = false;
  placement.ticket.queue({
    needs: selection.needs,
    look: selection.look,
    reserve(now, waitedMs) {
      decision = selection.route(now, selection.mayQueueAfter(waitedMs));
      if (decision.chosen === undefined) return undefined;
      mustQueue = !selection.hasFreeSlot(decision.chosen, now);
      return placement.reserve(decision.chosen);
    },
    to: 'placed',
    begin() {
      const { chosen: peer } = decision ?? {};
      if (decision && peer !== undefined) tell({ decision, peer, mustQueue });
    },
    onVerdict: (verdict) => tell({ verdict }),
    failed: fail,
  });
  return {
    async next(until = Number.POSITIVE_INFINITY) {
      const late = (): void => {
        if (!news) tell({ verdict: 'late' });
      };
      using _timer = Number.isFinite(until) ? callAt(clock, until, late) : undefined;
      await wake.promise;
      wake = Promise.withResolvers();
      if (failure) throw failure.reason;
      const found = news;
      news = undefined;
      if (!found) throw new Error('a search woke up without news');
      return found;
    },
    fail,
    stop() {
      placement.ticket.leave();
      return news && 'peer' in news ? news : undefined;
    },
  };
}

/** Bounds the detail of an event, characters. */
const MAX_DETAIL = 200;

function reportWait(
  run: RelayedRun,
  wait: ReturnType<typeof trackWait>,
  unmet: readonly Unmet[],
  waitsFor: ReturnType<PeerSelection['waitsFor']>,
): void {
  const kinds = unmetKinds(unmet);
  const until = run.task.deadlineAt ?? wait.endsAt();
  const end = Number.isFinite(until) && { until: new Date(until).toISOString() };
  const reason = waitsFor?.kind ?? kinds[0] ?? 'peer';
  const detail = waitsFor && { detail: waitsFor.detail.slice(0, MAX_DETAIL) };
  run.tellEvent({ type: 'queued', data: { waiting: true, reason, ...detail, unmet: kinds, ...end } });
}

const isNewTask = ({ waiting, attempts, turnedAway }: RelayState): boolean =>
  waiting === undefined && attempts.length === 0 && turnedAway === 0;

type WaitState = NonNullable<RelayState['waiting']>;

/** The wait of a relayed task, as its checkpoint keeps it: one write at a time, each with the latest state. */
function trackWait(
  { clock, maxWaitMs }: AwaitPlaceOptions,
  { state, save, note }: RelayedRun,
  queued: boolean,
) {
  let wait = state.waiting ?? { since: clock.now(), alerted: false, queued, unplaceableMs: 0 };
  let written: WaitState | undefined = state.waiting;
  let writing: Promise<void> | undefined;

  async function writeAll(): Promise<void> {
    while (written !== wait) {
      const latest = wait;
      await save({ waiting: latest });
      written = latest;
    }
  }
  function write(): Promise<void> {
    writing ??= writeAll().finally(() => {
      writing = undefined;
    });
    return writing;
  }
  /** A failure is reported by `saved`. */
  const writeLater = (): void => void write().catch(() => undefined);
  const unplaceableMs = (now: number): number =>
    wait.unplaceableMs + (wait.queued ? 0 : Math.max(0, now - (wait.changedAt ?? wait.since)));

  /** False without a change. */
  function change(nowQueued: boolean): boolean {
    if (nowQueued === wait.queued) return false;
    const now = clock.now();
    wait = { ...wait, queued: nowQueued, changedAt: now, unplaceableMs: unplaceableMs(now) };
    return true;
  }

  return {
    /** Records if the task waits for a free slot only. */
    observe(nowQueued: boolean): void {
      if (change(nowQueued)) writeLater();
    },
    setAlerted(): void {
      wait = { ...wait, alerted: true };
      writeLater();
    },
    /**
     * The task has a place: the time with a peer is no time in which nobody could take the task. Durable with the next save of
     * the run.
     */
    end(): void {
      if (!change(true)) return;
      note({ waiting: wait });
      written = wait;
    },
    current: (): WaitState => wait,
    /** The end of the wait if nothing changes, ms since the epoch; Infinity while it waits for a free slot only. */
    endsAt(): number {
      if (wait.queued) return Number.POSITIVE_INFINITY;
      return (wait.changedAt ?? wait.since) + maxWaitMs - wait.unplaceableMs;
    },
    /** Resolves when everything that was recorded is durable. */
    saved: write,
  };
}
