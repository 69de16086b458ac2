import {
  type AnnounceBus,
  type BusConnection,
  type Relay,
  startAnnounceBus,
  startRelay,
} from '@hermes-fleet/events';
import type { AnnounceOutlet, Credentials, FleetConfig } from '@hermes-fleet/fleet';
import type { Ledger } from '@hermes-fleet/ledger';
import { type Clock, encodeAnnounce, type JsonObject, type Log } from '@hermes-fleet/protocol';
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
    connection: connectionOf(nats, `fleet/${o.profile}`, o.login),
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

/**
 * This profile's announces on NATS; a profile that orchestrates hears those of the others too (design 2, When). Without
 * a login anybody could speak in anybody's name there: then nobody is listened to. Undefined without a broker.
 */
export function connectAnnounces(o: {
  readonly profile: string;
  readonly config: FleetConfig;
  readonly login: Credentials['bus'];
  readonly clock: Clock;
  readonly log: Log;
  readonly onAnnounce: (announce: JsonObject, from: string) => Promise<void>;
}): (AnnounceOutlet & Pick<AnnounceBus, 'close'>) | undefined {
  const { nats, orchestrate } = o.config.fleet;
  if (!nats) return undefined;
  const listens = orchestrate && o.login.user !== undefined;
  if (orchestrate && !listens)
    o.log.warn(
      {},
      'announces on NATS are not listened to: without fleet.nats.user_env nobody knows who speaks',
    );
  const bus = startAnnounceBus({
    ...{ profile: o.profile, clock: o.clock, log: o.log },
    connection: connectionOf(nats, `fleet/${o.profile}/announces`, o.login),
    ...(listens ? { onAnnounce: o.onAnnounce } : {}),
  });
  return {
    publish: (announce) =>
      bus.publish({
        announce: encodeAnnounce(announce),
        instanceId: announce.instanceId ?? 'unknown',
        seq: announce.seq ?? 0,
        at: o.clock.now(),
      }),
    flush: bus.flush,
    close: bus.close,
  };
}

function connectionOf(
  { servers, inbox_prefix: inboxPrefix }: NonNullable<FleetConfig['fleet']['nats']>,
  name: string,
  login: Credentials['bus'],
): BusConnection {
  return { servers, name, ...login, ...(inboxPrefix === undefined ? {} : { inboxPrefix }) };
}
