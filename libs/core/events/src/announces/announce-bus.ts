import { addAbortListener } from 'node:events';
import type { CloudEvent, JsonObject } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { headers, type NatsConnection } from 'nats';
import { type BusConnection, endOf, flushed, reasonOf } from '../connection/connection.ts';
import { type BusState, supervise } from '../connection/supervise.ts';
import { Waiters } from '../connection/waiters.ts';
import { type Announced, announceEvent, announceSubject } from './announce-event.ts';
import { createAnnounceInbox } from './announce-inbox.ts';

const ALL_ANNOUNCES = announceSubject('>');

export interface AnnounceBusOptions {
  readonly connection: BusConnection;
  readonly profile: string;
  readonly clock: Clock;
  readonly log: Log;
  /** 0 to 1, for the delays between attempts. */
  readonly random?: () => number;
  /**
   * Called sequentially with the announces of other profiles; `from` is the profile whose subject carried it. While a
   * call runs, only the newest announce of each profile is kept. Without it, the bus does not subscribe.
   */
  readonly onAnnounce?: (announce: JsonObject, from: string) => Promise<void> | void;
}

/** Publishes a profile's announces on NATS and receives those of the others. */
export interface AnnounceBus {
  state(): BusState;
  /** Queues an announce in place of any unsent older one. Never blocks, never throws. */
  publish(announced: Announced): void;
  /** Resolves true once the server has received the last announce, false after `timeoutMs` or `close()`. */
  flush(timeoutMs: number): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * Publishes the latest announce, and again after a reconnect when the server may not have received it. It waits for no
 * acknowledgement of the stream: an announce expires with its ttl, and the next heartbeat replaces it
 * (docs/handshake.md#announcing).
 */
export function startAnnounceBus(options: AnnounceBusOptions): AnnounceBus {
  const stop = new AbortController();
  const flushing = new Waiters(options.clock);
  const inbox = options.onAnnounce && createAnnounceInbox({ ...options, onAnnounce: options.onAnnounce });
  let pending: CloudEvent | undefined;
  let wake: () => void = () => {};
  let state: BusState = { connected: false, lastError: undefined };

  async function send(nc: NatsConnection, healthy: () => void): Promise<never> {
    const broken = endOf(nc);
    await flushed(nc);
    healthy();
    for (;;) {
      const woken = Promise.withResolvers<void>();
      wake = woken.resolve;
      const event = pending;
      if (event) {
        publish(nc, event);
        await flushed(nc);
        if (pending === event) pending = undefined;
      }
      if (pending === undefined) {
        flushing.settle(true);
        await Promise.race([woken.promise, broken]);
      }
    }
  }

  function publish(nc: NatsConnection, event: CloudEvent): void {
    const messageHeaders = headers();
    messageHeaders.set('Nats-Msg-Id', event.id);
    try {
      nc.publish(announceSubject(options.profile), JSON.stringify(event), { headers: messageHeaders });
    } catch (error) {
      if (nc.isClosed()) throw error;
      options.log.error(
        { event_id: event.id, reason: reasonOf(error) },
        'an announce cannot be published on NATS',
      );
    }
  }

  /** The server reports permission violations out of band; the connection stays open. */
  async function watchRefusals(nc: NatsConnection): Promise<void> {
    for await (const { type, data } of nc.status())
      if (String(type) === 'error')
        options.log.warn({ reason: String(data) }, 'NATS refuses an announce: set up its users again');
  }

  const running = supervise({
    connection: options.connection,
    component: 'announce bus',
    clock: options.clock,
    random: options.random,
    log: options.log,
    signal: stop.signal,
    onState: (next) => {
      state = next;
    },
    session: async (nc, healthy) => {
      using _end = addAbortListener(stop.signal, () => void nc.close());
      watchRefusals(nc).catch((err) => options.log.debug({ err }, 'no longer watching the status of NATS'));
      if (inbox) nc.subscribe(ALL_ANNOUNCES, { callback: inbox.receive });
      await send(nc, healthy);
    },
  });

  return {
    state: () => state,
    publish(announced) {
      pending = announceEvent(options.profile, announced);
      wake();
    },
    async flush(timeoutMs) {
      if (pending === undefined) return true;
      if (stop.signal.aborted) return false;
      return await flushing.wait(timeoutMs);
    },
    async close() {
      stop.abort();
      wake();
      flushing.settle(false);
      await Promise.all([running, inbox?.close()]);
      state = { connected: false, lastError: state.lastError };
    },
  };
}
