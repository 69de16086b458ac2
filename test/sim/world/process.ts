import type { Clock } from '@hermes-fleet/protocol/ports';
import type { EventLoop } from './event-loop.ts';

/** The time at which every simulation starts. */
export const START = Date.UTC(2026, 0, 1);

/** A simulated operating-system process. After it is killed nothing in it happens any more. */
export interface Process {
  readonly isAlive: boolean;
  /** The time of the event loop. Timers and sleeps of a killed process never end. */
  readonly clock: Clock;
  /** The same promise while the process is alive; one that never settles after that. */
  alive<T>(promise: Promise<T>): Promise<T>;
  /** Calls the listener when the process is killed. */
  onKill(listener: () => void): Disposable;
  kill(): void;
}

export function createProcess(loop: EventLoop): Process {
  const listeners = new Set<() => void>();
  let isAlive = true;

  const clock: Clock = {
    now: () => START + loop.now,
    monotonic: () => loop.now,
    timer: (fn, ms) =>
      loop.after(ms, () => {
        if (isAlive) fn();
      }),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const onAbort = (): void => {
          timer[Symbol.dispose]();
          if (isAlive) reject(signal?.reason);
        };
        const timer = loop.after(ms, () => {
          signal?.removeEventListener('abort', onAbort);
          if (isAlive) resolve();
        });
        signal?.addEventListener('abort', onAbort, { once: true });
      }),
  };

  return {
    get isAlive() {
      return isAlive;
    },
    clock,
    alive: (promise) =>
      new Promise((resolve, reject) => {
        promise.then(
          (value) => isAlive && resolve(value),
          (error) => isAlive && reject(error),
        );
      }),
    onKill(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    kill() {
      isAlive = false;
      for (const listener of [...listeners]) listener();
      listeners.clear();
    },
  };
}
