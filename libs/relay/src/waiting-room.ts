import { setImmediate as turn } from 'node:timers/promises';
import type { PeerRegistry } from '@hermes-fleet/peers';
import type { Clock, Priority } from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import { callAt, priorityRank, type WaitingItem } from '@hermes-fleet/tasks';

/** How many of those that wait are looked at before others get a turn, and for how long at most, ms. */
const AT_A_TIME = 25;
const LONGEST_TURN_MS = 10;
/** Before a round, ms, so that changes that come close together are looked at together; at least as long as the last took. */
const ROUND_PAUSE_MS = 20;

/** A task that waits until some peer may take it. */
export interface Waiter {
  readonly priority: Priority;
  /** Since when it waits, ms since the epoch. */
  readonly since: number;
  /** Until when it waits, ms since the epoch. */
  readonly until: number;
  /** Whether to look in the next round, though nothing changes. */
  readonly lookNow: boolean;
  readonly signal: AbortSignal;
  /** Whether a place at this peer is all that it waits for, as it saw it last. */
  waitsFor(peer: string): boolean;
  /** Whether it is to go on now; takes what it needs for that, so that the next one sees it taken. */
  look(): boolean;
  /** When to look again if nothing changes before, ms since the epoch. */
  nextLook(): number;
}

/** Where relayed tasks wait for a peer that can take them: woken by changes, in order of priority, one after another. */
export interface WaitingRoom {
  readonly size: number;
  /** How often something has changed while anybody was here: who has seen another figure has missed something. */
  readonly changes: number;
  /** A place, until it is disposed; undefined when all are taken. Who waited before gets one in any case. */
  enter(since: number, before: boolean): Disposable | undefined;
  /** Resolves with `ready` when a look succeeded, with `over` at `until`; rejects with the signal's reason. */
  wait(waiter: Waiter): Promise<'ready' | 'over'>;
  /** Whether somebody who goes before this one waits for a place at the peer. */
  isAwaited(peer: string, by: WaitingItem): boolean;
  /** Something has changed: everybody looks again. */
  wake(): void;
  /** Brings the gauges up to date. */
  gauge(): void;
}

export interface WaitingRoomOptions {
  readonly peers: Pick<PeerRegistry, 'onChange'>;
  readonly clock: Clock;
  readonly metrics: Pick<FleetMetrics, 'queueDepth' | 'queueOldestAge'>;
  readonly maxWaiting: number;
  /** Waiting this long lifts a task by one priority. */
  readonly ageingMs: number;
}

interface Entry {
  readonly waiter: Waiter;
  look(): void;
}

export function createWaitingRoom(o: WaitingRoomOptions): WaitingRoom {
  const places = new Set<{ readonly since: number }>();
  const entries = new Set<Entry>();
  /** Of these, who looks in the next round whether something has changed or not. */
  const asking = new Set<Entry>();
  let listening: Disposable | undefined;
  let changes = 0;
  let awake = false;
  let inRounds = false;
  let pauseMs = ROUND_PAUSE_MS;

  function enter(since: number, before: boolean): Disposable | undefined {
    if (places.size >= o.maxWaiting && !before) return undefined;
    const place = { since };
    places.add(place);
    listening ??= o.peers.onChange(wake);
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
      entries.delete(entry);
      asking.delete(entry);
      timer?.[Symbol.dispose]();
      signal.removeEventListener('abort', abort);
    };
    const abort = (): void => {
      leave();
      waited.reject(signal.reason);
    };
    const arm = (): void => {
      timer?.[Symbol.dispose]();
      timer = callAt(o.clock, Math.min(waiter.nextLook(), waiter.until), ask);
    };
    const ask = (): void => {
      asking.add(entry);
      startRounds();
    };
    const look = (): void => {
      if (!entries.has(entry)) return;
      try {
        const came = waiter.look() ? 'ready' : o.clock.now() >= waiter.until ? 'over' : undefined;
        if (came === undefined) arm();
        else {
          leave();
          waited.resolve(came);
        }
      } catch (error) {
        leave();
        waited.reject(error);
      }
    };
    const entry = { waiter, look };
    entries.add(entry);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    else if (waiter.lookNow) ask();
    else arm();
    return waited.promise;
  }

  function wake(): void {
    changes += 1;
    awake = true;
    startRounds();
  }

  function startRounds(): void {
    if (inRounds || entries.size === 0) return;
    inRounds = true;
    void rounds();
  }

  async function rounds(): Promise<void> {
    while ((awake || asking.size > 0) && entries.size > 0) {
      await o.clock.sleep(pauseMs);
      const due = inOrder(awake ? entries : asking);
      awake = false;
      asking.clear();
      pauseMs = Math.max(ROUND_PAUSE_MS, await lookAt(due));
    }
    inRounds = false;
  }

  /** Resolves with the time that it took itself, ms. */
  async function lookAt(due: readonly Entry[]): Promise<number> {
    let spentMs = 0;
    let from = o.clock.now();
    for (const [at, entry] of due.entries()) {
      const turnMs = o.clock.now() - from;
      if (at % AT_A_TIME === 0 || turnMs >= LONGEST_TURN_MS) {
        spentMs += turnMs;
        await turn();
        from = o.clock.now();
      }
      entry.look();
    }
    return spentMs + o.clock.now() - from;
  }

  function isAwaited(peer: string, by: WaitingItem): boolean {
    const now = o.clock.now();
    const own = priorityRank(by, o.ageingMs, now);
    for (const { waiter } of entries) {
      const rank = priorityRank(waiter, o.ageingMs, now);
      const isFirst = rank > own || (rank === own && waiter.since < by.since);
      if (isFirst && waiter.waitsFor(peer)) return true;
    }
    return false;
  }

  function inOrder(those: ReadonlySet<Entry>): Entry[] {
    const now = o.clock.now();
    const ranked = [...those].map((entry) => ({ entry, rank: priorityRank(entry.waiter, o.ageingMs, now) }));
    ranked.sort((a, b) => b.rank - a.rank || a.entry.waiter.since - b.entry.waiter.since);
    return ranked.map(({ entry }) => entry);
  }

  function gauge(): void {
    const now = o.clock.now();
    let oldest = now;
    for (const { since } of places) oldest = Math.min(oldest, since);
    o.metrics.queueDepth('waiting', places.size);
    o.metrics.queueOldestAge('waiting', (now - oldest) / 1000);
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
    isAwaited,
    wake,
    gauge,
  };
}
