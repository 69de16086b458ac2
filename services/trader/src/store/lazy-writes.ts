import type { Clock } from '@hermes-fleet/protocol';

/** Writes that can wait for company: they cost no commit of their own where others are under way. */
export interface LazyWrites {
  /**
   * Has `start` called at the next flush; resolves and rejects as what it returns. The newest of a key replaces those that
   * wait, whose promises it keeps.
   */
  join(key: string, start: () => Promise<void>): Promise<void>;
  /** Starts what waits, in the order in which it came. */
  flush(): void;
  /** Starts what waits; what comes later starts at once. */
  close(): void;
}

export function createLazyWrites(o: { readonly clock: Clock; readonly waitMs: number }): LazyWrites {
  interface Waiting {
    start: () => Promise<void>;
    readonly done: PromiseWithResolvers<void>;
  }
  const waiting = new Map<string, Waiting>();
  let timer: Disposable | undefined;
  let closed = false;

  const flush = (): void => {
    timer?.[Symbol.dispose]();
    timer = undefined;
    const all = [...waiting.values()];
    waiting.clear();
    for (const { start, done } of all) start().then(done.resolve, done.reject);
  };

  return {
    join: (key, start) => {
      if (closed) return start();
      const known = waiting.get(key);
      if (known) {
        known.start = start;
        return known.done.promise;
      }
      const done = Promise.withResolvers<void>();
      waiting.set(key, { start, done });
      timer ??= o.clock.timer(flush, o.waitMs);
      return done.promise;
    },
    flush,
    close: () => {
      closed = true;
      flush();
    },
  };
}
