/** Time, injected for tests. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since an arbitrary instant, for durations: it never goes back when the wall clock is set. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fn` once after `ms`, unless disposed first. Does not keep the process alive. */
  timer(fn: () => void, ms: number): Disposable;
}

/** The maximum delay of setTimeout; it fires longer ones at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Calls `fn` after `ms`, without an upper limit; Infinity never fires. */
function startTimer(fn: () => void, ms: number, keepAlive: boolean): () => void {
  let left = ms;
  let timer: NodeJS.Timeout;
  const arm = (): void => {
    const step = Math.min(left, MAX_TIMEOUT_MS);
    timer = setTimeout(() => {
      left -= step;
      if (left > 0) arm();
      else fn();
    }, step);
    if (!keepAlive) timer.unref();
  };
  arm();
  return () => clearTimeout(timer);
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    signal?.throwIfAborted();
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = startTimer(resolve, ms, true);
    try {
      await (signal ? raceSignal(promise, signal) : promise);
    } finally {
      stop();
    }
  },
  timer: (fn, ms) => ({ [Symbol.dispose]: startTimer(fn, ms, false) }),
};

/** Settles with the promise, or rejects with the signal's reason first. The work behind the promise continues. */
export function raceSignal<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** True if the promise resolves within `ms`; rejects with it. The work behind the promise continues. */
export async function isWithin(
  promise: Promise<unknown>,
  ms: number,
  clock: Pick<Clock, 'timer'>,
): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  using _timer = clock.timer(() => resolve(false), ms);
  return await Promise.race([promise.then(() => true), late]);
}
