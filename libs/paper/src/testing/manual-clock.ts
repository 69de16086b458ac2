import type { Clock } from '@hermes-fleet/protocol';

export interface ManualClock extends Clock {
  /** Moves time on and fires the timers and sleeps that are due, in order. */
  advance(ms: number): void;
  /** Resolves when so many sleep. */
  asleep(count: number): Promise<void>;
}

/** A clock that stands until the test moves it. */
export function manualClock(start = Date.parse('2026-04-16T20:15:00Z')): ManualClock {
  let now = start;
  const timers = new Set<{ readonly at: number; readonly fn: () => void; readonly sleeps: boolean }>();
  const waiting = new Set<{ readonly count: number; readonly resolve: () => void }>();

  function arm(fn: () => void, ms: number, sleeps: boolean): Disposable {
    const timer = { at: now + ms, fn, sleeps };
    timers.add(timer);
    for (const wait of waiting) if (sleepers() >= wait.count && waiting.delete(wait)) wait.resolve();
    return { [Symbol.dispose]: () => void timers.delete(timer) };
  }
  const sleepers = (): number => [...timers].filter(({ sleeps }) => sleeps).length;

  return {
    now: () => now,
    timer: (fn, ms) => arm(fn, ms, false),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const onAbort = (): void => {
          timer[Symbol.dispose]();
          reject(signal?.reason);
        };
        signal?.addEventListener('abort', onAbort, { once: true });
        const done = (): void => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        };
        const timer = arm(done, ms, true);
      }),
    advance: (ms) => {
      now += ms;
      for (const timer of [...timers].sort((a, b) => a.at - b.at))
        if (timer.at <= now && timers.delete(timer)) timer.fn();
    },
    asleep: (count) => {
      if (sleepers() >= count) return Promise.resolve();
      return new Promise((resolve) => waiting.add({ count, resolve }));
    },
  };
}
