import type { OutboxPublisher } from '@hermes-fleet/events';
import type { Clock, Log, OutboxSource } from '@hermes-fleet/protocol/ports';
import type { FleetMetrics } from '@hermes-fleet/service';

const INTERVAL_MS = 1_000;

/** Measures the backlog of a process's outboxes every second until it is disposed. */
export function startBacklogGauge(options: {
  readonly outboxes: readonly Pick<OutboxSource, 'backlog'>[];
  /** What publishes them. */
  readonly publishers?: readonly (Pick<OutboxPublisher, 'state'> | undefined)[];
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<FleetMetrics, 'outbox'>;
}): Disposable {
  let timer: Disposable | undefined;
  const measure = (): void => {
    try {
      const backlogs = options.outboxes.map((outbox) => outbox.backlog());
      options.metrics.outbox({
        count: backlogs.reduce((sum, { count }) => sum + count, 0),
        missing: (options.publishers ?? []).reduce((sum, bus) => sum + (bus?.state().missing ?? 0), 0),
        oldestAgeS: Math.max(0, ...backlogs.map(({ oldestAgeMs }) => oldestAgeMs)) / 1000,
      });
    } catch (error) {
      options.log.error({ err: error }, 'the backlog of the outbox cannot be measured');
    }
    timer = options.clock.timer(measure, INTERVAL_MS);
  };
  measure();
  return { [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
}
