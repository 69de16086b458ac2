import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Bar } from '../terms/strategy.ts';

/** A last bar may be this far ahead of the clock, or one interval: a clock that is adjusted goes back a little. */
const TOLERANCE_MS = 60_000;

/** True if the clock was set back since a bar, so far that waiting for it to catch up would stop trading. */
export const wasSetBack = (last: Pick<Bar, 'at'>, now: number, intervalMs: number): boolean =>
  last.at > now + Math.max(TOLERANCE_MS, intervalMs);

/**
 * Waits until the clock reaches a time at most `stepMs` ahead and checks it every `stepMs`, since a timer ignores changes
 * of the clock and may fire early. If the clock is set back meanwhile, it waits one step of the new time. Rejects with the
 * signal's reason.
 */
export async function sleepUntil(
  clock: Clock,
  { at, stepMs }: { readonly at: number; readonly stepMs: number },
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  let dueAt = at;
  for (let left = dueAt - clock.now(); left > 0; left = dueAt - clock.now()) {
    if (left > stepMs) dueAt = clock.now() + stepMs;
    await clock.sleep(Math.min(left, stepMs), signal);
  }
}

/** Rounds a time down to a multiple of `stepMs`. */
export const floorToStep = (at: number, stepMs: number): number => Math.floor(at / stepMs) * stepMs;
