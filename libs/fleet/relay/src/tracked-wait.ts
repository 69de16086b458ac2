import type { Clock } from '@hermes-fleet/protocol/ports';
import type { RelayState } from './relay-state.ts';
import type { RelayedRun } from './relayed-run.ts';

type WaitState = NonNullable<RelayState['waiting']>;

/** The wait of a relayed task, as its checkpoint keeps it. */
export interface TrackedWait {
  /** Records if the task waits for a free slot only. */
  observe(queued: boolean): void;
  setAlerted(): void;
  /**
   * The task has a place: the time with a peer is no time in which nobody could take the task. Durable with the next save of
   * the run.
   */
  end(): void;
  current(): WaitState;
  /** The end of the wait if nothing changes, ms since the epoch; Infinity while it waits for a free slot only. */
  endsAt(): number;
  /** Resolves when everything that was recorded is durable. */
  saved(): Promise<void>;
}

/** Keeps the wait's state durable: one write at a time, each with the latest state. */
export function trackWait(
  { clock, maxWaitMs }: { readonly clock: Pick<Clock, 'now'>; readonly maxWaitMs: number },
  { state, save, note }: RelayedRun,
  queued: boolean,
): TrackedWait {
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
    observe(nowQueued) {
      if (change(nowQueued)) writeLater();
    },
    setAlerted() {
      wait = { ...wait, alerted: true };
      writeLater();
    },
    end() {
      if (!change(true)) return;
      note({ waiting: wait });
      written = wait;
    },
    current: () => wait,
    endsAt() {
      if (wait.queued) return Number.POSITIVE_INFINITY;
      return (wait.changedAt ?? wait.since) + maxWaitMs - wait.unplaceableMs;
    },
    saved: write,
  };
}
