import type { Clock } from '@hermes-fleet/protocol';

/** Waits until the clock shows `at` or later; rejects with the signal's reason. */
export async function until(clock: Clock, at: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  // A timer of the system may ring a little early.
  for (let left = at - clock.now(); left > 0; left = at - clock.now()) await clock.sleep(left, signal);
}

/** The latest multiple of `stepMs` that is not after `at`. */
export const boundary = (at: number, stepMs: number): number => Math.floor(at / stepMs) * stepMs;
