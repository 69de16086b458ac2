import { type Clock, systemClock } from '@hermes-fleet/protocol';

export interface ManualClock extends Clock {
  /** Advances the time and fires the timers that are due, in order. */
  advance(ms: number): void;
  /** Resolves when a timer of this length is armed. */
  armed(ms: number): Promise<void>;
}

/** A clock whose timers fire only in advance(). */
export function manualClock(): ManualClock {
  let offset = 0;
  const timers = new Set<{ readonly at: number; readonly ms: number; readonly fn: () => void }>();
  const waiting = new Set<{ readonly ms: number; readonly resolve: () => void }>();
  return {
    now: () => offset,
    sleep: systemClock.sleep,
    timer: (fn, ms) => {
      const timer = { at: offset + ms, ms, fn };
      timers.add(timer);
      for (const wait of waiting) if (wait.ms === ms) wait.resolve();
      return { [Symbol.dispose]: () => void timers.delete(timer) };
    },
    advance: (ms) => {
      offset += ms;
      for (const timer of [...timers].sort((a, b) => a.at - b.at)) {
        if (timer.at <= offset && timers.delete(timer)) timer.fn();
      }
    },
    armed: (ms) => {
      if ([...timers].some((timer) => timer.ms === ms)) return Promise.resolve();
      return new Promise((resolve) => waiting.add({ ms, resolve }));
    },
  };
}
