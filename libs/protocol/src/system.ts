import { v7 } from 'uuid';
import type { Clock, Ids } from './ports.ts';

/** The longest wait that setTimeout can hold; anything above fires at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Calls `fn` after `ms`, however long that is; Infinity is never. */
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

/** The real clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        stop();
        reject(signal?.reason);
      };
      const onDone = (): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const stop = startTimer(onDone, ms, true);
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
  timer: (fn, ms) => ({ [Symbol.dispose]: startTimer(fn, ms, false) }),
};

/** Random, time-ordered identities. */
export const systemIds: Ids = { uuid: () => v7() };
