import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';

/** The rate of decisions of one caller about one concern. */
export interface Limits {
  readonly perSecond: number;
  /** Capacity of the token bucket. */
  readonly burst: number;
  /** Part of the burst that only a pause may use. */
  readonly keptForPause: number;
}

/** Most buckets in memory; the least recently used is dropped first. */
const MAX_BUCKETS = 10_000;
const LONGEST_WAIT_S = 3600;

interface Bucket {
  readonly tokens: number;
  readonly at: number;
}

export type Limiter = ReturnType<typeof createLimiter>;

/** A token bucket per caller and concern (docs/trader.md#security). Throws CONFIG_INVALID for limits that admit nothing. */
export function createLimiter(limits: Limits, clock: Pick<Clock, 'now'>, maxBuckets = MAX_BUCKETS) {
  const { perSecond, burst, keptForPause } = limits;
  if (!(perSecond > 0 && burst >= keptForPause + 1)) {
    const message = `a rate of ${perSecond} a second with ${keptForPause} of ${burst} kept for pause admits nothing`;
    throw new FleetError('CONFIG_INVALID', `${message}; raise it, or the burst`);
  }
  const buckets = new Map<string, Bucket>();
  const filled = (bucket: Bucket | undefined, now: number): number => {
    if (bucket === undefined) return burst;
    // A clock that was set back removes no tokens.
    const seconds = Math.max(0, now - bucket.at) / 1000;
    return Math.min(burst, bucket.tokens + seconds * perSecond);
  };
  return {
    /** Takes one token and returns 0, or takes none and returns the seconds to wait. */
    takeToken: (caller: string, concernId: string, isPause: boolean): number => {
      const key = JSON.stringify([caller, concernId]);
      const now = clock.now();
      const tokens = filled(buckets.get(key), now);
      const missing = 1 + (isPause ? 0 : keptForPause) - tokens;
      buckets.delete(key);
      buckets.set(key, { tokens: missing > 0 ? tokens : tokens - 1, at: now });
      const [quietest] = buckets.keys();
      if (buckets.size > maxBuckets && quietest !== undefined) buckets.delete(quietest);
      return missing > 0 ? Math.min(LONGEST_WAIT_S, Math.ceil(missing / perSecond)) : 0;
    },
  };
}
