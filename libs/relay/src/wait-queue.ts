import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { PeerRegistry } from '@hermes-fleet/peers';
import { type Clock, Priority } from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import { callAt, WaitingLines, type WaitingTask } from '@hermes-fleet/tasks';

/** A round yields to the event loop after this many checks, or after this time, ms. */
const CHECKS_PER_TURN = 25;
const MAX_TURN_MS = 10;
/** The pause before a round, ms, which joins close changes; never shorter than the last round took. */
const ROUND_PAUSE_MS = 20;

/** A task that waits until a peer may accept it. */
export interface Waiter {
  readonly caller: string;
  readonly priority: Priority;
  /** Start of the wait, ms since the epoch. */
  readonly since: number;
  /** End of the wait, ms since the epoch; Infinity without one. A check may move it. */
  until(): number;
  /** Check in the next round, even without a change. */
  readonly checkNow: boolean;
  readonly signal: AbortSignal;
  /** True when free capacity at this peer was all that was missing at the last check. */
  waitsForCapacityOf(peer: string): boolean;
  /** Returns true when the task goes on. It reserves what the task needs, so that the next waiter sees it taken. */
  check(): boolean;
  /** The time of the next check without any change, ms since the epoch. */
  nextCheckAt(): number;
}

/** Relayed tasks that wait for a peer. Every change checks them one after another, in order of priority. */
export interface WaitQueue {
  readonly size: number;
  /** The number of changes so far; a larger number than before means that a change was missed. */
  readonly changes: number;
  /** Returns a place until it is disposed, or undefined when the queue is full. Tasks that wait already are always admitted. */
  enter(since: number, waitedBefore: boolean): Disposable | undefined;
  /** Resolves with `ready` when a check succeeds and with `over` at `until`; rejects with the signal's reason. */
  wait(waiter: Waiter): Promise<'ready' | 'over'>;
  /** True when a waiter that ranks above `by` waits for capacity at this peer. */
  hasWaiterAhead(peer: string, by: Pick<Waiter, 'priority' | 'since'>): boolean;
  /** Reports a change: every waiter is checked. */
  checkAll(): void;
  /** Updates the gauges. */
  gauge(): void;
}

export interface WaitQueueOptions {
  readonly peers: Pick<PeerRegistry, 'onChange'>;
  readonly clock: Clock;
  readonly metrics: Pick<FleetMetrics, 'queueDepth' | 'queueOldestAge'>;
  readonly maxWaiting: number;
  /** A wait of this length raises a task by one priority. */
  readonly ageingMs: number;
}

interface Entry extends WaitingTask {
  readonly waiter: Waiter;
  check(): void;
}

export function createWaitQueue(options: WaitQueueOptions): WaitQueue {
  const { peers, clock, metrics, maxWaiting, ageingMs } = options;
  const places = new Set<{ readonly since: number }>();
  const entries = new Set<Entry>();
  const lines = new WaitingLines<Entry>(ageingMs);
  let arrivals = 0;
  /** Entries that are checked in the next round even without a change. */
  const due = new Set<Entry>();
  let listening: Disposable | undefined;
  let changes = 0;
  let changed = false;
  let inRounds = false;
  let pauseMs = ROUND_PAUSE_MS;

  function enter(since: number, waitedBefore: boolean): Disposable | undefined {
    if (places.size >= maxWaiting && !waitedBefore) return undefined;
    const place = { since };
    places.add(place);
    listening ??= peers.onChange(checkAll);
    gauge();
    return {
      [Symbol.dispose]() {
        places.delete(place);
        if (places.size === 0) {
          listening?.[Symbol.dispose]();
          listening = undefined;
        }
        gauge();
      },
    };
  }

  function wait(waiter: Waiter): Promise<'ready' | 'over'> {
    const { signal } = waiter;
    const waited = Promise.withResolvers<'ready' | 'over'>();
    let timer: Disposable | undefined;
    const leave = (): void => {
      if (entries.delete(entry)) lines.remove(entry, clock.now());
      due.delete(entry);
      timer?.[Symbol.dispose]();
      signal.removeEventListener('abort', abort);
    };
    const abort = (): void => {
      leave();
      waited.reject(signal.reason);
    };
    const setTimer = (): void => {
      timer?.[Symbol.dispose]();
      timer = callAt(clock, Math.min(waiter.nextCheckAt(), waiter.until()), becomeDue);
    };
    const becomeDue = (): void => {
      due.add(entry);
      startRounds();
    };
    const check = (): void => {
      if (!entries.has(entry)) return;
      try {
        const outcome = waiter.check() ? 'ready' : clock.now() >= waiter.until() ? 'over' : undefined;
        if (outcome === undefined) setTimer();
        else {
          if (outcome === 'ready') lines.endTurn(entry);
          leave();
          waited.resolve(outcome);
        }
      } catch (error) {
        leave();
        waited.reject(error);
      }
    };
    arrivals += 1;
    const { caller, priority, since } = waiter;
    // Several tasks of a context may wait here: only the worker's queue runs them one at a time.
    const entry: Entry = {
      waiter,
      check,
      caller,
      priority,
      since,
      order: since,
      tie: arrivals,
      contextId: `${arrivals}`,
    };
    entries.add(entry);
    lines.add(entry, clock.now());
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    else if (waiter.checkNow) becomeDue();
    else setTimer();
    return waited.promise;
  }

  function checkAll(): void {
    changes += 1;
    changed = true;
    startRounds();
  }

  function startRounds(): void {
    if (inRounds || entries.size === 0) return;
    inRounds = true;
    void runRounds();
  }

  async function runRounds(): Promise<void> {
    while ((changed || due.size > 0) && entries.size > 0) {
      await clock.sleep(pauseMs);
      const whole = changed;
      const round = inOrder(whole ? entries : due);
      changed = false;
      due.clear();
      pauseMs = Math.max(ROUND_PAUSE_MS, await checkEach(round, whole));
    }
    inRounds = false;
  }

  /**
   * Resolves with the time that the checks took, ms. A change ends a round over a part of the waiters: otherwise one of
   * them would take what a waiter ahead of it can take now.
   */
  async function checkEach(round: readonly Entry[], whole: boolean): Promise<number> {
    let spentMs = 0;
    let from = clock.now();
    for (const [at, entry] of round.entries()) {
      const turnMs = clock.now() - from;
      if (at % CHECKS_PER_TURN === 0 || turnMs >= MAX_TURN_MS) {
        spentMs += turnMs;
        await yieldToEventLoop();
        from = clock.now();
      }
      if (changed && !whole) break;
      entry.check();
    }
    return spentMs + clock.now() - from;
  }

  function hasWaiterAhead(peer: string, by: Pick<Waiter, 'priority' | 'since'>): boolean {
    const now = clock.now();
    const own = Priority.options.indexOf(by.priority);
    for (const entry of entries) {
      const rank = lines.rankOf(entry, now);
      const isAhead = rank > own || (rank === own && entry.since < by.since);
      if (isAhead && entry.waiter.waitsForCapacityOf(peer)) return true;
    }
    return false;
  }

  function inOrder(chosen: ReadonlySet<Entry>): Entry[] {
    return lines
      .inOrder(clock.now())
      .filter((entry) => chosen.has(entry))
      .toArray();
  }

  function gauge(): void {
    const now = clock.now();
    let oldest = now;
    for (const { since } of places) oldest = Math.min(oldest, since);
    metrics.queueDepth('waiting', places.size);
    metrics.queueOldestAge('waiting', (now - oldest) / 1000);
  }

  return {
    get size() {
      return places.size;
    },
    get changes() {
      return changes;
    },
    enter,
    wait,
    hasWaiterAhead,
    checkAll,
    gauge,
  };
}
