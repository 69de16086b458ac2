import {
  type AnnounceBus,
  type BusConnection,
  createOutboxPublisher,
  type OutboxPublisher,
  startAnnounceBus,
} from '@hermes-fleet/events';
import type { Credentials, FleetConfig } from '@hermes-fleet/fleet-config';
import type { Ledger } from '@hermes-fleet/ledger';
import type { AnnounceOutlet } from '@hermes-fleet/peers';
import { type Clock, encodeAnnounce, type JsonObject, type Log } from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';

/** The way from the ledger's outbox to NATS, in the background; undefined where fleet.yaml names no broker. */
export function connectBus(o: {
  readonly profile: string;
  readonly config: FleetConfig;
  readonly login: Credentials['bus'];
  readonly ledger: Pick<Ledger, 'outbox'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<FleetMetrics, 'eventPublished'>;
}): OutboxPublisher | undefined {
  const { nats } = o.config.fleet;
  if (!nats) return undefined;
  return createOutboxPublisher({
    connection: busConnection(nats, `fleet/${o.profile}`, o.login),
    source: o.ledger.outbox,
    subjectPrefix: `fleet.task.${o.profile}`,
    clock: o.clock,
    log: o.log,
    onPublished: o.metrics.eventPublished,
  });
}

/**
 * A member's announces on NATS; one that orchestrates hears those of the others too (design 2, When). Without
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
    profile: o.profile,
    clock: o.clock,
    log: o.log,
    connection: busConnection(nats, `fleet/${o.profile}/announces`, o.login),
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

/** A connection of this name to the brokers that fleet.yaml names. */
export function busConnection(
  { servers, inbox_prefix: inboxPrefix }: NonNullable<FleetConfig['fleet']['nats']>,
  name: string,
  login: Credentials['bus'],
): BusConnection {
  return { servers, name, ...login, ...(inboxPrefix === undefined ? {} : { inboxPrefix }) };
}

const FLUSH_MS = 2_000;

/** The last events on their way, as far as the bus takes them now, and the connections closed. */
export async function flushAndClose(
  publishers: readonly (Pick<OutboxPublisher, 'flush' | 'close'> | undefined)[],
  log: Log,
): Promise<void> {
  const open = publishers.filter((publisher) => publisher !== undefined);
  const flushed = await Promise.all(open.map((publisher) => publisher.flush(FLUSH_MS)));
  if (flushed.includes(false)) log.warn({}, 'events are left in the outbox for the next start');
  await Promise.all(open.map((publisher) => publisher.close()));
}
