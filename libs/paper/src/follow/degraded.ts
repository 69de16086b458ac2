import { z } from 'zod';

const count = (most: number, fallback: number) => z.int().min(1).max(most).default(fallback);

/** From where on execution counts as degraded, as trader.yaml says it (design 4, Runtime). */
export const DegradedSchema = z
  .strictObject({
    stale_after_bars: count(1_000, 3).describe('Bars that may be missing before the feed is stale'),
    max_rejects: count(1_000, 5).describe('Orders of the last 20 bars that may have been rejected'),
    max_errors: count(1_000, 3).describe('Errors in a row, of bars or of the feed, that are let pass'),
    faulted_after_errors: count(10_000, 10).describe(
      'Errors of a strategy in a row after which it is faulted',
    ),
  })
  .prefault({});

export type DegradedConfig = z.output<typeof DegradedSchema>;

/** What one concern's execution is judged by. */
export interface ExecutionFacts {
  /** Ms since the epoch. */
  readonly now: number;
  /** When the last bar came, or the runtime was made. */
  readonly heardAt: number;
  readonly intervalMs: number;
  readonly hasFeedEnded: boolean;
  /** In a row. */
  readonly feedErrors: number;
  readonly recentRejects: number;
  readonly consecutiveErrors: number;
  /** What an operator or a test says is wrong. */
  readonly forced: string | undefined;
}

/** How long a feed may be silent, ms. */
export const patienceMs = (config: DegradedConfig, intervalMs: number): number =>
  config.stale_after_bars * intervalMs;

/** Everything that degrades an execution; empty when it is fine. It takes no more than the cause's end to recover. */
export function degradations(config: DegradedConfig, facts: ExecutionFacts): string[] {
  const { now, heardAt, intervalMs, feedErrors, recentRejects, consecutiveErrors, forced } = facts;
  // Either way: a clock that was set back is no reason to believe in an old bar.
  const isStale = Math.abs(now - heardAt) > patienceMs(config, intervalMs);
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
