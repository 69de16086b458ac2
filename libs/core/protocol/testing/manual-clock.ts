import type { Clock } from '../src/ports/clock.ts';

/** The time at which a manual clock starts unless a test gives another. */
export const START = Date.UTC(2026, 0, 1);

export interface ManualClock extends Clock {
  /** Moves time on, then fires the timers and ends the sleeps that are due, in the order of their times. */
  advance(ms: number): void;
  /** Sets the wall clock by this much, which moves neither the monotonic clock nor the timers. */
  set(byMs: number): void;
  /** The number of armed timers; sleeps do not count. */
  readonly timers: number;
  /** Resolves when a timer of this length is armed. */
  armed(ms: number): Promise<void>;
  /** Resolves when at least `count` sleeps are under way. */
  asleep(count: number): Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly ms: number;
  readonly fn: () => void;
  readonly kind: 'timer' | 'sleep';
}

/** A clock that stands still until the test advances it. */
export function manualClock(start = START): ManualClock {
  let now = start;
  let offset = 0;
  const timers = new Set<Timer>();
  const observers = new Set<() => void>();
  const all = (kind: Timer['kind']): Timer[] => [...timers].filter((timer) => timer.kind === kind);

  function arm(kind: Timer['kind'], fn: () => void, ms: number): Disposable {
    const timer = { at: now + ms, ms, fn, kind };
    timers.add(timer);
    for (const observe of observers) observe();
    return { [Symbol.dispose]: () => void timers.delete(timer) };
  }

  function until(isTrue: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const observe = (): void => {
        if (!isTrue()) return;
        observers.delete(observe);
        resolve();
      };
      observers.add(observe);
      observe();
    });
  }

  return {
    now: () => now + offset,
    monotonic: () => now,
    timer: (fn, ms) => arm('timer', fn, ms),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const onAbort = (): void => {
          timer[Symbol.dispose]();
          reject(signal?.reason);
        };
        const onDone = (): void => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        };
        const timer = arm('sleep', onDone, ms);
        signal?.addEventListener('abort', onAbort, { once: true });
      }),
    set: (byMs) => {
      offset += byMs;
    },
    advance: (ms) => {
      now += ms;
      for (const timer of [...timers].sort((a, b) => a.at - b.at))
        if (timer.at <= now && timers.delete(timer)) timer.fn();
    },
    get timers() {
      return all('timer').length;
    },
    armed: (ms) => until(() => all('timer').some((timer) => timer.ms === ms)),
    asleep: (count) => until(() => all('sleep').length >= count),
  };
}
