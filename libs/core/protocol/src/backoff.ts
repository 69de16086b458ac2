export interface BackoffOptions {
  readonly firstMs: number;
  readonly longestMs: number;
  /** Returns 0 to 1. */
  readonly random: () => number;
}

/**
 * The delay before the next attempt, in ms: doubles with each failure up to `longestMs`, with up to half of it removed
 * at random, which spreads the retries of callers that failed together. `failures` counts from 1.
 */
export function backoffMs(failures: number, { firstMs, longestMs, random }: BackoffOptions): number {
  const delay = Math.min(firstMs * 2 ** Math.min(failures - 1, 30), longestMs);
  return delay * (0.5 + 0.5 * random());
}
