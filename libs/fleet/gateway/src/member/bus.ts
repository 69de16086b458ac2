import {
  type AnnounceBus,
  type BusConnection,
  createOutboxPublisher,
  type OutboxPublisher,
  startAnnounceBus,
} from '@hermes-fleet/events';
import type { Credentials, FleetConfig } from '@hermes-fleet/fleet-config';
import type { Ledger } from '@hermes-fleet/ledger';
import type { AnnouncePublisher } from '@hermes-fleet/peers';
import type { JsonObject } from '@hermes-fleet/protocol';
import { encodeAnnounce } from '@hermes-fleet/protocol/handshake';
import type { Clock, Log, OutboxSource, Tracing } from '@hermes-fleet/protocol/ports';
import type { FleetMetrics } from '@hermes-fleet/service';

/** Publishes the ledger's outbox on NATS in the background; undefined when fleet.yaml names no broker. */
export function connectBus(options: {
  readonly profile: string;
  readonly config: FleetConfig;
  readonly login: Credentials['bus'];
  readonly ledger: Pick<Ledger, 'outbox'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracing?: Tracing | undefined;
  readonly metrics: Pick<FleetMetrics, 'add'>;
}): OutboxPublisher | undefined {
  const { nats } = options.config.fleet;
  if (!nats) return undefined;
  return createOutboxPublisher({
    connection: busConnection(nats, `fleet/${options.profile}`, options.login),
    source: options.ledger.outbox,
    subjectPrefixes: [`fleet.task.${options.profile}`],
    reader: options.profile,
    clock: options.clock,
    log: options.log,
    tracing: options.tracing,
    onPublished: (result) => options.metrics.add('fleet_events_published_total', { result }),
  });
}

/**
 * Publishes a member's announces on NATS; an orchestrator also receives those of the others
 * (docs/handshake.md#announcing). Without a login the bus does not authenticate senders, so nothing is received.
 * Undefined when fleet.yaml names no broker.
 */
export function connectAnnounces(options: {
  readonly profile: string;
  readonly config: FleetConfig;
  readonly login: Credentials['bus'];
  readonly clock: Clock;
  readonly log: Log;
  readonly onAnnounce: (announce: JsonObject, from: string) => Promise<void>;
}): (AnnouncePublisher & Pick<AnnounceBus, 'close'>) | undefined {
  const { nats, orchestrate } = options.config.fleet;
  if (!nats) return undefined;
  const listens = orchestrate && options.login.user !== undefined;
  if (orchestrate && !listens)
    options.log.warn(
      {},
      'announces on NATS are ignored: without fleet.nats.user_env their senders are not authenticated',
    );
  const bus = startAnnounceBus({
    profile: options.profile,
    clock: options.clock,
    log: options.log,
    connection: busConnection(nats, `fleet/${options.profile}/announces`, options.login),
    ...(listens ? { onAnnounce: options.onAnnounce } : {}),
  });
  return {
    publish: (announce) =>
      bus.publish({
        announce: encodeAnnounce(announce),
        instanceId: announce.instanceId ?? 'unknown',
        seq: announce.seq ?? 0,
        at: options.clock.now(),
      }),
    flush: bus.flush,
    close: bus.close,
  };
}

/** The connection options for the brokers in fleet.yaml. */
export function busConnection(
  { servers, inbox_prefix: inboxPrefix }: NonNullable<FleetConfig['fleet']['nats']>,
  name: string,
  login: Credentials['bus'],
): BusConnection {
  return { servers, name, ...login, ...(inboxPrefix === undefined ? {} : { inboxPrefix }) };
}

/** Shows the backlog of a process's outboxes, and what the streams of their publishers lack, in its metrics. */
export function readBacklog(
  metrics: Pick<FleetMetrics, 'read'>,
  outboxes: readonly Pick<OutboxSource, 'backlog'>[],
  publishers: readonly (Pick<OutboxPublisher, 'state'> | undefined)[],
): void {
  metrics.read({
    fleet_outbox_backlog: () => outboxes.reduce((sum, outbox) => sum + outbox.backlog().count, 0),
    fleet_outbox_oldest_age_seconds: () =>
      Math.max(0, ...outboxes.map((outbox) => outbox.backlog().oldestAgeMs)) / 1000,
    fleet_outbox_missing_events: () => publishers.reduce((sum, bus) => sum + (bus?.state().missing ?? 0), 0),
  });
}

const FLUSH_MS = 2_000;

/** Flushes all outboxes, for at most 2 s, and closes their connections. */
export async function flushAndClose(
  publishers: readonly (Pick<OutboxPublisher, 'flush' | 'close'> | undefined)[],
  log: Log,
): Promise<void> {
  const open = publishers.filter((publisher) => publisher !== undefined);
  const flushed = await Promise.all(open.map((publisher) => publisher.flush(FLUSH_MS)));
  if (flushed.includes(false)) log.warn({}, 'events are left in the outbox for the next start');
  await Promise.all(open.map((publisher) => publisher.close()));
}
