import { z } from 'zod';

const count = (most: number, fallback: number) => z.int().min(1).max(most).default(fallback);

/** The thresholds of degraded execution in trader.yaml (docs/trader.md#degraded). */
export const DegradedSchema = z
  .strictObject({
    stale_after_bars: count(1_000, 3).describe('missing bars before the feed is stale'),
    max_rejects: count(1_000, 5).describe('rejected orders tolerated in the last 20 bars'),
    max_errors: count(1_000, 3).describe('consecutive errors, of bars or of the feed, that are tolerated'),
    faulted_after_errors: count(10_000, 10).describe('consecutive errors that make a strategy faulted'),
  })
  .prefault({});

export type DegradedConfig = z.output<typeof DegradedSchema>;

export interface ExecutionFacts {
  /** Ms since the epoch. */
  readonly now: number;
  /** Time of the last bar's arrival or, before it, of the start. */
  readonly lastBarAt: number;
  readonly intervalMs: number;
  readonly hasFeedEnded: boolean;
  /** Consecutive. */
  readonly feedErrors: number;
  readonly recentRejects: number;
  readonly consecutiveErrors: number;
  /** A reason set by an operator or a test. */
  readonly forced: string | undefined;
}

/** Longest silence of a feed, ms. */
export const staleAfterMs = (config: DegradedConfig, intervalMs: number): number =>
  config.stale_after_bars * intervalMs;

/** All reasons why execution is degraded; empty if it is not. Execution recovers as soon as its causes end. */
export function degradations(config: DegradedConfig, facts: ExecutionFacts): string[] {
  const { now, lastBarAt: heardAt, intervalMs, feedErrors, recentRejects, consecutiveErrors, forced } = facts;
  // Absolute: a clock that was set back does not make an old bar fresh.
  const isStale = Math.abs(now - heardAt) > staleAfterMs(config, intervalMs);
  const { stale_after_bars, max_rejects, max_errors } = config;
  const why = facts.hasFeedEnded ? ': it has no more bars' : '';
  return [
    ...(isStale ? [`the feed is stale: no bar for more than ${stale_after_bars} intervals${why}`] : []),
    ...(feedErrors > max_errors ? [`the feed has failed more than ${max_errors} times in a row`] : []),
    ...(recentRejects > max_rejects
      ? [`more than ${max_rejects} orders of the last 20 bars were rejected`]
      : []),
    ...(consecutiveErrors > max_errors ? [`more than ${max_errors} bars in a row ended in an error`] : []),
    ...(forced === undefined ? [] : [forced]),
  ];
}
