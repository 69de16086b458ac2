import { type Clock, createDeadlines } from '@hermes-fleet/protocol/ports';

/** Defers writes to share the commit of other writes. */
export function createLazyWrites(options: {
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  readonly waitMs: number;
}) {
  interface Waiting {
    start: () => Promise<void>;
    readonly done: PromiseWithResolvers<void>;
  }
  const waiting = new Map<string, Waiting>();
  const deadlines = createDeadlines({ clock: options.clock, ms: options.waitMs });
  let meet: (() => void) | undefined;
  let closed = false;

  const flush = (): void => {
    meet?.();
    meet = undefined;
    if (waiting.size === 0) return;
    const all = [...waiting.values()];
    waiting.clear();
    for (const { start, done } of all) start().then(done.resolve, done.reject);
  };

  return {
    /**
     * Calls `start` at the next flush and settles as its promise does. A newer call with the same key replaces a waiting one
     * and settles its promise too.
     */
    join: (key: string, start: () => Promise<void>): Promise<void> => {
      if (closed) return start();
      const known = waiting.get(key);
      if (known) {
        known.start = start;
        return known.done.promise;
      }
      const done = Promise.withResolvers<void>();
      waiting.set(key, { start, done });
      meet ??= deadlines.start(flush);
      return done.promise;
    },
    /** Starts all waiting writes, oldest first. */
    flush,
    /** Flushes; later writes start at once. */
    close: (): void => {
      closed = true;
      flush();
      deadlines.close();
    },
  };
}
