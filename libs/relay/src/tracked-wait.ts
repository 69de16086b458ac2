import type { Clock } from '@hermes-fleet/protocol';
import type { RelayState } from './relay-state.ts';
import type { RelayedRun } from './relayed-run.ts';

type WaitState = NonNullable<RelayState['waiting']>;

/** The wait of a relayed task, as its checkpoint keeps it. */
export interface TrackedWait {
  /** Records if the task waits for a free slot only. */
  observe(queued: boolean): void;
  setAlerted(): void;
  current(): WaitState;
  /** The end of the wait if nothing changes, ms since the epoch. */
  endsAt(): number;
  /** Resolves when everything that was recorded is durable. */
  saved(): Promise<void>;
}

/** Keeps the wait's state durable, one write after another. `initial` is saved if the task has not waited before. */
export function trackWait(
  { clock, maxWaitMs }: { readonly clock: Pick<Clock, 'now'>; readonly maxWaitMs: number },
  { task, state, save }: RelayedRun,
  initial: WaitState,
): TrackedWait {
  let wait = initial;
  let saving: Promise<void> = state.waiting === undefined ? save({ waiting: wait }) : Promise.resolve();
  const change = (changed: Partial<WaitState>): void => {
    wait = { ...wait, ...changed };
    const latest = wait;
    saving = saving.then(() => save({ waiting: latest }));
    // Reported by `saved`.
    saving.catch(() => undefined);
  };
  const unplaceableMs = (now: number): number =>
    wait.unplaceableMs + (wait.queued ? 0 : Math.max(0, now - (wait.changedAt ?? wait.since)));
  return {
    observe(queued) {
      const now = clock.now();
      if (queued !== wait.queued) change({ queued, changedAt: now, unplaceableMs: unplaceableMs(now) });
    },
    setAlerted: () => change({ alerted: true }),
    current: () => wait,
    endsAt() {
      if (task.deadlineAt !== undefined) return task.deadlineAt;
      if (wait.queued) return Number.POSITIVE_INFINITY;
      return (wait.changedAt ?? wait.since) + maxWaitMs - wait.unplaceableMs;
    },
    saved: () => saving,
  };
}
