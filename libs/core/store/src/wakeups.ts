export interface Wait {
  readonly woken: Promise<void>;
  cancel(): void;
}

export type Wakeups = ReturnType<typeof createWakeups>;

/** Waits that are woken by key. Keys without a wait use no memory. */
export function createWakeups() {
  const sleepers = new Map<string, Set<() => void>>();

  const wake = (key: string): void => {
    const waiting = sleepers.get(key);
    if (waiting) for (const resume of waiting) resume();
  };

  return {
    /** Resolves at the next wake of `key`, when `signal` aborts, or when `cancel` of the returned wait is called. */
    wait: (key: string, signal: AbortSignal): Wait => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const resume = (): void => {
        signal.removeEventListener('abort', resume);
        const others = sleepers.get(key);
        others?.delete(resume);
        if (others?.size === 0) sleepers.delete(key);
        resolve();
      };
      const others = sleepers.get(key);
      if (others) others.add(resume);
      else sleepers.set(key, new Set([resume]));
      signal.addEventListener('abort', resume, { once: true });
      if (signal.aborted) resume();
      return { woken: promise, cancel: resume };
    },
    wake,
    wakeAll: (): void => {
      for (const key of [...sleepers.keys()]) wake(key);
    },
    /** The current number of waits. */
    get waiting(): number {
      return sleepers.values().reduce((sum, { size }) => sum + size, 0);
    },
  };
}
