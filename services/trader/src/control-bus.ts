import { createOutboxPublisher, type OutboxPublisher } from '@hermes-fleet/events';
import type { Credentials, FleetConfig } from '@hermes-fleet/fleet-config';
import { busConnection } from '@hermes-fleet/member';
import type { Clock, Log } from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import { type AuditState, type AuditWatchOptions, watchAudit } from './audit-heads.ts';
import type { ControlStore } from './control/control-store.ts';

/** Below it lies every control event: `fleet.control.<account>.<market>`. */
const SUBJECTS = 'fleet.control';

export interface ControlBusOptions {
  readonly service: string;
  /** Undefined: there is no broker. */
  readonly nats: FleetConfig['fleet']['nats'];
  readonly login: Credentials['bus'];
  readonly store: Pick<ControlStore, 'outbox'> & AuditWatchOptions['store'];
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<FleetMetrics, 'eventPublished'> & { auditOk(ok: boolean): void };
}

/** What the trader has on NATS beside what every member has, and the eye on its audit. */
export interface ControlBus {
  /** Of control events and heads together; undefined without a broker. */
  readonly relay: OutboxPublisher | undefined;
  audit(): AuditState;
  /** Leaves in the outbox what was not flushed. */
  close(): Promise<void>;
}

/** Publishes control events and the head of the audit, each over a connection of its own, in the background. */
export function connectControlBus(o: ControlBusOptions): ControlBus {
  const { service, nats, store, clock, log } = o;
  const named = (name: string) => nats && busConnection(nats, `fleet/${service}/${name}`, o.login);
  const audit = watchAudit({
    service,
    store,
    clock,
    log,
    connection: named('heads'),
    onVerdict: o.metrics.auditOk,
  });
  const connection = named('control');
  if (!connection) return { relay: undefined, audit: audit.state, close: audit.close };
  const events = createOutboxPublisher({
    connection,
    source: store.outbox,
    subjectPrefix: SUBJECTS,
    clock,
    log,
    onPublished: o.metrics.eventPublished,
  });
  const relay: OutboxPublisher = {
    state() {
      const state = events.state();
      const head = audit.heads?.state();
      // A broken audit has no connection any more: that is told by `audit`, and is no fault of the bus.
      return state.connected && head && head.audit !== 'broken' && !head.connected
        ? { connected: false, lastError: head.lastError ?? 'the head of the audit is not published yet' }
        : state;
    },
    async flush(timeoutMs) {
      const flushed = await Promise.all([events.flush(timeoutMs), audit.heads?.flush(timeoutMs)]);
      return !flushed.includes(false);
    },
    close: async () => void (await Promise.all([events.close(), audit.close()])),
  };
  return { relay, audit: audit.state, close: relay.close };
}
