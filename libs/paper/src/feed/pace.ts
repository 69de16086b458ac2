import type { Clock } from '@hermes-fleet/protocol';

/**
 * Waits until the clock shows `at` or later, which it looks up every `stepMs`; rejects with the signal's reason. A timer
 * knows nothing of a clock that is set, and may ring a little early.
 */
export async function until(
  clock: Clock,
  { at, stepMs }: { readonly at: number; readonly stepMs: number },
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  for (let left = at - clock.now(); left > 0; left = at - clock.now())
    await clock.sleep(Math.min(left, stepMs), signal);
}

/** The latest multiple of `stepMs` that is not after `at`. */
export const boundary = (at: number, stepMs: number): number => Math.floor(at / stepMs) * stepMs;
