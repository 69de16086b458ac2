export interface BackoffOptions {
  readonly firstMs: number;
  readonly longestMs: number;
  /** 0 to 1. */
  readonly random: () => number;
}

/**
 * The pause before the next try, in ms: doubles with each failure up to `longestMs`, its upper half at random, so that
 * many who failed together don't come back together. `failures` counts from 1.
 */
export function backoffMs(failures: number, o: BackoffOptions): number {
  const full = Math.min(o.firstMs * 2 ** Math.min(failures - 1, 30), o.longestMs);
  return full * (0.5 + 0.5 * o.random());
}
