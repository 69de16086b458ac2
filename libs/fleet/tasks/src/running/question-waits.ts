import type { Clock } from '@hermes-fleet/protocol/ports';
import type { FleetMetrics } from '@hermes-fleet/service';

/** Counts the tasks that wait for an answer of their caller, and reports them as the queue `input`. */
export interface QuestionWaits {
  /** The limit is reached. Tasks that waited before a restart are admitted beyond it. */
  readonly full: boolean;
  /** Counts a task until the result is disposed; `since` is the start of its wait, ms since the epoch. */
  add(since: number): Disposable;
  /** Updates the gauges. */
  gauge(): void;
}

export function createQuestionWaits({
  clock,
  metrics,
  max,
}: {
  readonly clock: Pick<Clock, 'now'>;
  readonly metrics: Pick<FleetMetrics, 'queueDepth' | 'queueOldestAge'>;
  /** The largest number of waiting tasks. */
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
    add(since) {
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
