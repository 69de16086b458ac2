import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { type DegradedConfig, degradations, type ExecutionFacts, staleAfterMs } from './degraded.ts';

/** Monitors the health of one concern's execution and logs its changes. */
export function createHealthMonitor(options: {
  readonly concernId: string;
  readonly config: DegradedConfig;
  readonly intervalMs: number;
  readonly failureCounts: () => Pick<ExecutionFacts, 'recentRejects' | 'consecutiveErrors'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when execution becomes degraded or recovers. */
  readonly onChange: () => void;
}) {
  const { clock, config, intervalMs, log } = options;
  const about = { concern_id: options.concernId };
  let alarm: Disposable | undefined;
  let isWatching = false;
  let known = '';
  const feed = { lastBarAt: clock.now(), hasFeedEnded: false, feedErrors: 0 };
  let forced: string | undefined;

  const reasons = (): string[] =>
    degradations(config, { ...feed, ...options.failureCounts(), forced, intervalMs, now: clock.now() });

  /** Logs and reports a change. */
  function check(): void {
    const now = reasons().join('; ');
    if (now === known) return;
    known = now;
    if (now === '') log.info(about, 'execution is healthy again');
    else log.warn(about, `execution is degraded: ${now}`);
    options.onChange();
  }

  function watch(): void {
    alarm?.[Symbol.dispose]();
    if (isWatching) alarm = clock.timer(check, staleAfterMs(config, intervalMs) + 1);
  }

  return {
    barReceived: (): void => {
      feed.lastBarAt = clock.now();
      feed.feedErrors = 0;
      watch();
    },
    /** Returns the number of consecutive failures. */
    feedFailed: (err: unknown): number => {
      feed.feedErrors += 1;
      if (feed.feedErrors === 1) log.warn({ ...about, err }, 'the feed failed; it is retried');
      check();
      return feed.feedErrors;
    },
    feedEnded: (): void => {
      feed.hasFeedEnded = true;
      log.warn(about, 'the feed has no more bars; execution degrades when the next bars are overdue');
    },
    /** Degrades execution until it is called with undefined. */
    forceDegraded: (reason: string | undefined): void => {
      forced = reason;
      check();
    },
    reasons,
    /** Starts the timer that detects a stale feed. */
    start: (): void => {
      isWatching = true;
      watch();
    },
    check,
    stop: (): void => {
      isWatching = false;
      alarm?.[Symbol.dispose]();
    },
  };
}
