import type { Clock, Log, OutboxSource, Tracing } from '@hermes-fleet/protocol/ports';
import type { NatsConnection } from 'nats';
import type { BusConnection } from '../connection/connection.ts';
import { type BusState, supervise } from '../connection/supervise.ts';
import { Waiters } from '../connection/waiters.ts';
import { watchGap } from '../refill/stream-gap.ts';
import { runPublishSession } from './publish-session.ts';

const WINDOW = 64;
const ACK_TIMEOUT_MS = 5_000;

export interface OutboxPublisherOptions {
  readonly connection: BusConnection;
  readonly source: OutboxSource;
  /** The prefixes of the subjects in this outbox, e.g. `fleet.task.neo`; a subject has one of them. */
  readonly subjectPrefixes: readonly string[];
  readonly log: Log;
  /** Each event of an exported trace gets a span; absent where traces are off. */
  readonly tracing?: Tracing | undefined;
  readonly clock: Clock;
  /** The maximum number of events in flight, default 64; in a cluster always 1, so that a change of the leader keeps their order. */
  readonly window?: number;
  /** The time limit for an acknowledgement, after which the connection is replaced; default 5000 ms. */
  readonly ackTimeoutMs?: number;
  /** 0 to 1, for the delays between attempts. */
  readonly random?: () => number;
  /** The prefix of the consumers with which it looks for acknowledged events that the stream lacks; without it, it does not. */
  readonly reader?: string;
  /** Called with the outcome of every attempt to publish an event. */
  readonly onPublished?: (result: 'ok' | 'error') => void;
}

export interface PublisherState extends BusState {
  /** The number of acknowledged events that the stream lacks; absent until that is known. */
  readonly missing?: number;
}

export interface OutboxPublisher {
  /** `connected`: the bus accepts events. A disconnected bus is not an error of the service: events wait in the outbox. */
  state(): PublisherState;
  /** Resolves true once everything in the outbox is acknowledged, false after `timeoutMs` or `close()`. */
  flush(timeoutMs: number): Promise<boolean>;
  /** Closes the connection at once; unacknowledged events stay in the outbox for the next start. */
  close(): Promise<void>;
}

/**
 * Publishes the outbox to JetStream in order, each event until it is acknowledged, under a stable id by which the stream
 * drops duplicates (docs/events.md#order-and-copies). Returns at once and never throws; without a broker the outbox
 * grows and the publisher keeps retrying.
 */
export function createOutboxPublisher(options: OutboxPublisherOptions): OutboxPublisher {
  const stop = new AbortController();
  const flushing = new Waiters(options.clock);
  const isEmpty = (): boolean => options.source.backlog().count === 0;
  let state: PublisherState = { connected: false, lastError: undefined };
  const watch = (nc: NatsConnection, lastStored: () => Promise<number>): void => {
    const { reader, connection } = options;
    if (reader === undefined) return;
    const ended = new AbortController();
    void nc.closed().then(() => ended.abort());
    void watchGap({
      ...options,
      nc,
      reader,
      lastStored,
      inboxPrefix: connection.inboxPrefix,
      signal: AbortSignal.any([stop.signal, ended.signal]),
      onMissing: (missing) => {
        state = { ...state, missing };
      },
    });
  };
  const running = supervise({
    connection: options.connection,
    component: 'outbox publisher',
    clock: options.clock,
    random: options.random,
    log: options.log,
    signal: stop.signal,
    onState: (next) => {
      state = { ...state, ...next };
    },
    session: (nc, onHealthy) =>
      runPublishSession({
        ...options,
        nc,
        window: options.window ?? WINDOW,
        ackTimeoutMs: options.ackTimeoutMs ?? ACK_TIMEOUT_MS,
        signal: stop.signal,
        onHealthy,
        onAdvanced: () => {
          if (flushing.count > 0 && isEmpty()) flushing.settle(true);
        },
        onReadBack: (lastStored) => watch(nc, lastStored),
        onPublished: options.onPublished ?? (() => {}),
      }),
  });

  return {
    state: () => state,
    flush: async (timeoutMs) => isEmpty() || (!stop.signal.aborted && (await flushing.wait(timeoutMs))),
    close: async () => {
      stop.abort();
      flushing.settle(false);
      await running;
      state = { ...state, connected: false };
    },
  };
}
