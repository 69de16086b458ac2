import type { Clock } from '@hermes-fleet/protocol';

/**
 * Waits until the clock reaches `at` and checks it every `stepMs`, since a timer ignores changes of the clock and may
 * fire early. Rejects with the signal's reason.
 */
export async function sleepUntil(
  clock: Clock,
  { at, stepMs }: { readonly at: number; readonly stepMs: number },
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  for (let left = at - clock.now(); left > 0; left = at - clock.now())
    await clock.sleep(Math.min(left, stepMs), signal);
}

/** Rounds a time down to a multiple of `stepMs`. */
export const floorToStep = (at: number, stepMs: number): number => Math.floor(at / stepMs) * stepMs;
