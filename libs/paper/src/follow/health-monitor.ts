import type { Clock, Log } from '@hermes-fleet/protocol';
import { type DegradedConfig, degradations, type ExecutionFacts, patienceMs } from './degraded.ts';

export interface HealthMonitorOptions {
  readonly concernId: string;
  readonly config: DegradedConfig;
  readonly intervalMs: number;
  /** Of the engine. */
  readonly trouble: () => Pick<ExecutionFacts, 'recentRejects' | 'consecutiveErrors'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Execution is degraded now, or is no more, without a bar that says so. */
  readonly onChange: () => void;
}

/** Whether one concern's execution is sound: asked at any time, and told in the log when it changes. */
export interface HealthMonitor {
  /** A bar came. */
  heard(): void;
  /** The feed failed. Returns how often in a row. */
  feedFailed(err: unknown): number;
  feedEnded(): void;
  /** Degrades by order, until it is called with undefined. */
  force(reason: string | undefined): void;
  reasons(): string[];
  /** Begins to watch the time. */
  start(): void;
  /** Says what has changed. */
  check(): void;
  stop(): void;
}

export function createHealthMonitor(o: HealthMonitorOptions): HealthMonitor {
  const { clock, config, intervalMs, log } = o;
  const about = { concern_id: o.concernId };
  let alarm: Disposable | undefined;
  let isWatching = false;
  let known = '';
  const feed = { heardAt: clock.now(), hasFeedEnded: false, feedErrors: 0 };
  let forced: string | undefined;

  const reasons = (): string[] =>
    degradations(config, { ...feed, ...o.trouble(), forced, intervalMs, now: clock.now() });

  function check(): void {
    const now = reasons().join('; ');
    if (now === known) return;
    known = now;
    if (now === '') log.info(about, 'execution is sound again');
    else log.warn(about, `execution is degraded: ${now}`);
    o.onChange();
  }

  function watch(): void {
    alarm?.[Symbol.dispose]();
    if (isWatching) alarm = clock.timer(check, patienceMs(config, intervalMs) + 1);
  }

  return {
    heard: () => {
      feed.heardAt = clock.now();
      feed.feedErrors = 0;
      watch();
    },
    feedFailed: (err) => {
      feed.feedErrors += 1;
      if (feed.feedErrors === 1) log.warn({ ...about, err }, 'the feed failed; it is asked again');
      check();
      return feed.feedErrors;
    },
    feedEnded: () => {
      feed.hasFeedEnded = true;
      log.warn(about, 'the feed has no more bars; execution is degraded when the next ones are missed');
    },
    force: (reason) => {
      forced = reason;
      check();
    },
    reasons,
    start: () => {
      isWatching = true;
      watch();
    },
    check,
    stop: () => {
      isWatching = false;
      alarm?.[Symbol.dispose]();
    },
  };
}
