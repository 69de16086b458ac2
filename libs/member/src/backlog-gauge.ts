import type { Clock, Log, OutboxSource } from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';

const INTERVAL_MS = 1_000;

/** Measures the backlog of a process's outboxes every second until it is disposed. */
export function startBacklogGauge(o: {
  readonly outboxes: readonly Pick<OutboxSource, 'backlog'>[];
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<FleetMetrics, 'outbox'>;
}): Disposable {
  let timer: Disposable | undefined;
  const measure = (): void => {
    try {
      const backlogs = o.outboxes.map((outbox) => outbox.backlog());
      o.metrics.outbox({
        count: backlogs.reduce((sum, { count }) => sum + count, 0),
        oldestAgeS: Math.max(0, ...backlogs.map(({ oldestAgeMs }) => oldestAgeMs)) / 1000,
      });
    } catch (error) {
      o.log.error({ err: error }, 'the backlog of the outbox cannot be measured');
    }
    timer = o.clock.timer(measure, INTERVAL_MS);
  };
  measure();
  return { [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
}
