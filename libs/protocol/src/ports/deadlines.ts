import type { Clock } from './clock.ts';

/** Deadlines of one length. They share a timer, which costs more than all else about a deadline that is met. */
export interface Deadlines {
  /** Calls `onLate` after that time, unless the returned function is called before. */
  start(onLate: () => void): () => void;
  /** Ends the timer: no deadline passes after this. */
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

  const arm = (after: number): void => {
    timer = clock.timer(check, after);
  };

  const check = (): void => {
    const now = clock.monotonic();
    try {
      for (const deadline of pending) {
        if (deadline.at > now) break;
        pending.delete(deadline);
        deadline.onLate();
      }
    } finally {
      const [next] = pending;
      timer = undefined;
      if (next !== undefined) arm(next.at - now);
    }
  };

  return {
    start: (onLate) => {
      const deadline: Deadline = { at: clock.monotonic() + ms, onLate };
      pending.add(deadline);
      if (timer === undefined) arm(ms);
      return () => pending.delete(deadline);
    },
    close: () => {
      pending.clear();
      timer?.[Symbol.dispose]();
    },
  };
}
