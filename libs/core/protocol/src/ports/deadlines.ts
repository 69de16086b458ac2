import type { Clock } from './clock.ts';

/** Deadlines of one length. They share a timer, which costs more than all else about a deadline that is met. */
export interface Deadlines {
  /** Calls `onLate` after that time, unless the returned function is called before. Not for one that starts after `close`. */
  start(onLate: () => void): () => void;
  /** Ends the timer: the deadlines that are not met pass now. */
  close(): void;
}

/** A timer that all its deadlines have met still fires once; it does not keep the process alive. */
export function createDeadlines(options: {
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  readonly ms: number;
}): Deadlines {
  const { clock, ms } = options;
  interface Deadline {
    readonly at: number;
    readonly onLate: () => void;
  }
  /** The earliest first, since all have the same length. */
  const pending = new Set<Deadline>();
  let timer: Disposable | undefined;
  let isClosed = false;

  const arm = (after: number): void => {
    timer = clock.timer(check, after);
  };

  const passUntil = (time: number): void => {
    for (const deadline of pending) {
      if (deadline.at > time) break;
      pending.delete(deadline);
      deadline.onLate();
    }
  };

  const check = (): void => {
    const now = clock.monotonic();
    try {
      passUntil(now);
    } finally {
      const [next] = pending;
      timer = undefined;
      if (next !== undefined) arm(next.at - now);
    }
  };

  return {
    start: (onLate) => {
      if (isClosed) return () => undefined;
      const deadline: Deadline = { at: clock.monotonic() + ms, onLate };
      pending.add(deadline);
      if (timer === undefined) arm(ms);
      return () => pending.delete(deadline);
    },
    close: () => {
      isClosed = true;
      timer?.[Symbol.dispose]();
      timer = undefined;
      let failure: { readonly thrown: unknown } | undefined;
      while (pending.size > 0) {
        try {
          passUntil(Number.POSITIVE_INFINITY);
        } catch (thrown) {
          failure ??= { thrown };
        }
      }
      if (failure) throw failure.thrown;
    },
  };
}
