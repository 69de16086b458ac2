import type { Clock } from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';

/** The tasks that wait for their callers, as the gauges of the queue `input` show them. */
export interface QuestionWaits {
  /** Whether as many wait as may; who waited before a restart still may. */
  readonly full: boolean;
  /** Counts one more, which waits since then (ms since the epoch), until it is disposed. */
  enter(since: number): Disposable;
  /** Brings the gauges up to date. */
  gauge(): void;
}

export function createQuestionWaits({
  clock,
  metrics,
  max,
}: {
  readonly clock: Pick<Clock, 'now'>;
  readonly metrics: Pick<FleetMetrics, 'queueDepth' | 'queueOldestAge'>;
  /** How many may wait at a time. */
  readonly max: number;
}): QuestionWaits {
  const waiting = new Set<{ readonly since: number }>();

  function gauge(): void {
    const now = clock.now();
    let oldest = now;
    for (const { since } of waiting) oldest = Math.min(oldest, since);
    metrics.queueDepth('input', waiting.size);
    metrics.queueOldestAge('input', (now - oldest) / 1000);
  }

  return {
    get full() {
      return waiting.size >= max;
    },
    enter(since) {
      const entry = { since };
      waiting.add(entry);
      gauge();
      return {
        [Symbol.dispose]() {
          waiting.delete(entry);
          gauge();
        },
      };
    },
    gauge,
  };
}
