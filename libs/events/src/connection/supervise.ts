import { backoffMs, type Clock, type Log } from '@hermes-fleet/protocol';
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
  /** What this is, for the log: `event relay`. */
  readonly what: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Works on one connection until it fails or the signal aborts; calls `healthy` once the bus does what is asked of it. */
  readonly session: (nc: NatsConnection, healthy: () => void) => Promise<void>;
  readonly onState?: (state: BusState) => void;
}

/**
 * Opens a connection, runs a session on it, and starts over after any failure, for ever, with growing and scattered
 * delays; resolves when the signal aborts and the last connection is closed. Logs when the state changes, not when
 * an attempt fails.
 */
export async function supervise(o: SuperviseOptions): Promise<void> {
  const pauses = { firstMs: FIRST_DELAY_MS, longestMs: MAX_DELAY_MS, random: o.random };
  let failures = 0;
  let connected: boolean | undefined;
  const become = (next: boolean, reason: string | undefined): void => {
    o.onState?.({ connected: next, lastError: reason });
    if (connected !== next) {
      if (next) o.log.info({ servers: o.connection.servers.length }, `${o.what}: connected to the event bus`);
      else o.log.warn({ reason }, `${o.what}: interrupted; trying again until it works`);
    }
    connected = next;
  };
  const healthy = (): void => {
    if (connected === true) return;
    failures = 0;
    become(true, undefined);
  };
  while (!o.signal.aborted) {
    try {
      await runSession(o, healthy);
    } catch (error) {
      if (o.signal.aborted) return;
      become(false, reasonOf(error));
    }
    failures += 1;
    await o.clock.sleep(backoffMs(failures, pauses), o.signal).catch((error: unknown) => {
      if (!o.signal.aborted) throw error;
    });
  }
}

async function runSession(o: SuperviseOptions, healthy: () => void): Promise<void> {
  const nc = await openConnection(o.connection, o.signal);
  try {
    await o.session(nc, healthy);
  } finally {
    await nc.close();
  }
}
