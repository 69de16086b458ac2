import { WIDTHS } from './sums.ts';

/** A span of time in equal buckets, of which the first and the last may be longer than what was asked for. */
export interface Range {
  /** Ms since the epoch; `until` is not in the range. */
  readonly since: number;
  readonly until: number;
  /** The length of a bucket in ms, and of the kept buckets that it is made of, in s. */
  readonly stepMs: number;
  readonly width: number;
}

const DEFAULT_MS = 24 * 3_600_000;
const MAX_BUCKETS = 200;
const STEPS_S = [300, 900, 1_800, 3_600, 10_800, 21_600, 86_400, 604_800];

/** The buckets that cover a span of time, 24 hours up to now by default. At most 200, unless a week is too short for one. */
export function rangeOf(now: number, from: number | undefined, to: number | undefined): Range {
  const end = Math.min(to ?? now, now + DEFAULT_MS);
  const start = Math.max(0, Math.min(from ?? end - DEFAULT_MS, end));
  const wanted = (end - start) / MAX_BUCKETS;
  const stepMs = (STEPS_S.find((step) => step * 1_000 >= wanted) ?? 604_800) * 1_000;
  const [short, long] = WIDTHS;
  const since = start - (start % stepMs);
  return {
    since,
    until: since + Math.max(1, Math.ceil((end - since) / stepMs)) * stepMs,
    stepMs,
    width: stepMs % (long * 1_000) === 0 ? long : short,
  };
}

/** The starts of the buckets. */
export function bucketsOf({ since, until, stepMs }: Range): number[] {
  return Array.from({ length: Math.min(1_000, (until - since) / stepMs) }, (_, at) => since + at * stepMs);
}
