import { type Relay, startRelay } from '@hermes-fleet/events';
import type { Credentials, FleetConfig } from '@hermes-fleet/fleet';
import type { Ledger } from '@hermes-fleet/ledger';
import type { Clock, Log } from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';

const GAUGE_EVERY_MS = 1_000;

/** The way from the ledger's outbox to NATS, in the background; undefined where fleet.yaml names no broker. */
export function connectBus(o: {
  readonly profile: string;
  readonly config: FleetConfig;
  readonly login: Credentials['bus'];
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: FleetMetrics;
}): Relay | undefined {
  const { nats } = o.config.fleet;
  if (!nats) return undefined;
  const relay = startRelay({
    connection: {
      servers: nats.servers,
      name: `fleet/${o.profile}`,
      ...o.login,
      ...(nats.inbox_prefix === undefined ? {} : { inboxPrefix: nats.inbox_prefix }),
    },
    source: o.ledger.outbox,
    subjectPrefix: `fleet.task.${o.profile}`,
    clock: o.clock,
    log: o.log,
    onPublished: o.metrics.eventPublished,
  });
  let gauge: Disposable | undefined;
  const measure = (): void => {
    try {
      const { count, oldestAgeMs } = o.ledger.outbox.backlog();
      o.metrics.outbox({ count, oldestAgeS: oldestAgeMs / 1000 });
    } catch (error) {
      o.log.error({ err: error }, 'the backlog of the outbox cannot be measured');
    }
    gauge = o.clock.timer(measure, GAUGE_EVERY_MS);
  };
  measure();
  return {
    ...relay,
    close: async () => {
      gauge?.[Symbol.dispose]();
      await relay.close();
    },
  };
}
