import { createOutboxPublisher, type OutboxPublisher } from '@hermes-fleet/events';
import type { Credentials, FleetConfig } from '@hermes-fleet/fleet-config';
import { busConnection } from '@hermes-fleet/gateway/member';
import type { Clock, Log, Tracing } from '@hermes-fleet/protocol/ports';
import type { FleetMetrics } from '@hermes-fleet/service';
import { type AuditWatch, type AuditWatchOptions, watchAudit } from './audit-heads.ts';
import type { ControlStore } from './control/control-store.ts';

/** Subject prefixes of the control store's events: `fleet.control.<account>.<market>`, `fleet.trade.<account>.<market>`. */
export const CONTROL_PREFIXES = ['fleet.control', 'fleet.trade'];

export interface ControlBusOptions {
  readonly service: string;
  /** Undefined without a broker. */
  readonly nats: FleetConfig['fleet']['nats'];
  readonly login: Credentials['bus'];
  readonly store: Pick<ControlStore, 'outbox'> & AuditWatchOptions['store'];
  readonly clock: Clock;
  readonly log: Log;
  /** For the span of each publication. */
  readonly tracing?: Tracing | undefined;
  readonly metrics: Pick<FleetMetrics, 'add'>;
  /** The time between two verifications of the audit, ms. */
  readonly verifyEveryMs?: number;
  readonly onAudit: AuditWatchOptions['onChange'];
}

/** The trader's own NATS connections and its audit watch. */
export interface ControlBus {
  /** Control events and audit heads as one relay; undefined without a broker. */
  readonly relay: OutboxPublisher | undefined;
  readonly audit: Pick<AuditWatch, 'state' | 'settle' | 'accept'>;
  /** Events that were not flushed stay in the outbox. */
  close(): Promise<void>;
}

/** Publishes control events and audit heads in the background, each over its own connection. */
export function connectControlBus(options: ControlBusOptions): ControlBus {
  const { service, nats, store, clock, log } = options;
  const named = (name: string) => nats && busConnection(nats, `fleet/${service}/${name}`, options.login);
  const audit = watchAudit({
    service,
    store,
    clock,
    log,
    connection: named('heads'),
    everyMs: options.verifyEveryMs,
    onChange: options.onAudit,
  });
  const connection = named('control');
  if (!connection) return { relay: undefined, audit, close: audit.close };
  const events = createOutboxPublisher({
    connection,
    source: store.outbox,
    subjectPrefixes: CONTROL_PREFIXES,
    reader: service,
    clock,
    log,
    tracing: options.tracing,
    onPublished: (result) => options.metrics.add('fleet_events_published_total', { result }),
  });
  const relay: OutboxPublisher = {
    state() {
      const state = events.state();
      const head = audit.heads?.state();
      // A broken audit closes its connection: `audit` reports it, and the bus is not at fault.
      return state.connected && head && audit.state().state !== 'broken' && !head.connected
        ? {
            ...state,
            connected: false,
            lastError: head.lastError ?? 'the head of the audit is not published yet',
          }
        : state;
    },
    async flush(timeoutMs) {
      const flushed = await Promise.all([events.flush(timeoutMs), audit.heads?.flush(timeoutMs)]);
      return !flushed.includes(false);
    },
    close: async () => void (await Promise.all([events.close(), audit.close()])),
  };
  return { relay, audit, close: relay.close };
}
