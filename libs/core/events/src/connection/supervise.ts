import { backoffMs } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { NatsConnection } from 'nats';
import { type BusConnection, openConnection, reasonOf } from './connection.ts';

const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 5_000;

export interface BusState {
  readonly connected: boolean;
  readonly lastError: string | undefined;
}

export interface SuperviseOptions {
  readonly connection: BusConnection;
  /** The component's name in log messages, e.g. `outbox publisher`. */
  readonly component: string;
  readonly clock: Clock;
  /** 0 to 1, for the delays between attempts; `Math.random` by default. */
  readonly random?: (() => number) | undefined;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Uses one connection until it fails or the signal aborts; calls `healthy` once the bus serves its requests. */
  readonly session: (nc: NatsConnection, healthy: () => void) => Promise<void>;
  readonly onState?: ((state: BusState) => void) | undefined;
}

/**
 * Runs sessions, each on a new connection, and retries after any failure with jittered exponential backoff, without
 * limit. A server on which a session failed is avoided while another one answers: a server that its cluster cannot reach
 * still takes connections. Resolves when the signal aborts and the last connection is closed. Logs state changes, not every failed attempt.
 */
export async function supervise(options: SuperviseOptions): Promise<void> {
  const backoff = { firstMs: FIRST_DELAY_MS, longestMs: MAX_DELAY_MS, random: options.random ?? Math.random };
  const { servers } = options.connection;
  let failures = 0;
  let connected: boolean | undefined;
  let avoided: string | undefined;
  const setState = (next: boolean, reason: string | undefined): void => {
    options.onState?.({ connected: next, lastError: reason });
    if (connected !== next) {
      if (next)
        options.log.info({ servers: servers.length }, `${options.component}: connected to the event bus`);
      else options.log.warn({ reason }, `${options.component}: interrupted; trying again until it works`);
    }
    connected = next;
  };
  const healthy = (): void => {
    if (connected === true) return;
    failures = 0;
    setState(true, undefined);
  };
  while (!options.signal.aborted) {
    let used: string | undefined;
    try {
      const others = servers.filter((server) => server !== avoided);
      const connection = { ...options.connection, servers: others.length > 0 ? others : servers };
      await using nc = await openConnection(connection, options.signal, (server) => {
        used = server;
      });
      await options.session(nc, healthy);
    } catch (error) {
      if (options.signal.aborted) return;
      setState(false, reasonOf(error));
    }
    avoided = used;
    failures += 1;
    await options.clock.sleep(backoffMs(failures, backoff), options.signal).catch((error: unknown) => {
      if (!options.signal.aborted) throw error;
    });
  }
}
