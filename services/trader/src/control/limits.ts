import { type Clock, FleetError } from '@hermes-fleet/protocol';

/** How often a caller may decide about a concern. */
export interface Limits {
  readonly perSecond: number;
  /** How many may come at once after a pause. */
  readonly burst: number;
  /** Of the burst, what only a pause may use. */
  readonly keptForPause: number;
}

export interface Limiter {
  /** Takes one decision of a caller about a concern. 0, or the seconds after which to come again: then nothing is taken. */
  take(caller: string, concernId: string, isPause: boolean): number;
}

/** Pairs of caller and concern that are remembered; the one that was quiet for the longest is forgotten first. */
const MAX_BUCKETS = 10_000;
const LONGEST_WAIT_S = 3600;

interface Bucket {
  readonly tokens: number;
  readonly at: number;
}

/** A token bucket per caller and concern (design 4, Security). Throws CONFIG_INVALID for limits that let nothing through. */
export function createLimiter(limits: Limits, clock: Pick<Clock, 'now'>, maxBuckets = MAX_BUCKETS): Limiter {
  const { perSecond, burst, keptForPause } = limits;
  if (!(perSecond > 0 && burst >= keptForPause + 1)) {
    const message = `a rate of ${perSecond} a second with ${keptForPause} of ${burst} kept for pause lets nothing through`;
    throw new FleetError('CONFIG_INVALID', `${message}; raise it, or the burst`);
  }
  const buckets = new Map<string, Bucket>();
  const filled = (bucket: Bucket | undefined, now: number): number => {
    if (bucket === undefined) return burst;
    // A clock that was set back takes nothing away.
    const seconds = Math.max(0, now - bucket.at) / 1000;
    return Math.min(burst, bucket.tokens + seconds * perSecond);
  };
  return {
    take: (caller, concernId, isPause) => {
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
