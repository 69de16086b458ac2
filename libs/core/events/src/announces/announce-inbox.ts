import type { JsonObject } from '@hermes-fleet/protocol';
import type { Log } from '@hermes-fleet/protocol/ports';
import type { Msg, NatsError } from 'nats';
import { isForwarded, reasonOf } from '../connection/connection.ts';
import { announcerOf, readAnnounceEvent } from './announce-event.ts';

/** Larger messages are dropped. */
const MAX_BYTES = 256 * 1024;
/** The maximum number of profiles with a pending announce. */
const MAX_PENDING = 1_000;

/** Receives announces from NATS at any rate and delivers the newest of each profile, one at a time. */
export interface AnnounceInbox {
  readonly receive: (error: NatsError | null, message: Msg) => void;
  /** Drops pending announces; resolves when the current handler has returned. */
  close(): Promise<void>;
}

export function createAnnounceInbox(options: {
  readonly profile: string;
  readonly log: Log;
  readonly onAnnounce: (announce: JsonObject, from: string) => Promise<void> | void;
}): AnnounceInbox {
  const waiting = new Map<string, Uint8Array>();
  let handling: Promise<void> | undefined;

  /** Starts in the next microtask, so that `handling` is assigned before it is cleared. */
  async function handleAll(): Promise<void> {
    await Promise.resolve();
    for (let next = first(); next; next = first()) {
      const [from, data] = next;
      waiting.delete(from);
      const announce = readAnnounceEvent(Buffer.from(data).toString('utf8'));
      if (!announce) {
        options.log.warn({ peer: from, bytes: data.length }, 'skipped a message that is not an announce');
        continue;
      }
      try {
        await options.onAnnounce(announce, from);
      } catch (err) {
        options.log.warn({ peer: from, err }, 'an announce on NATS was not handled');
      }
    }
    handling = undefined;
  }

  const first = (): [string, Uint8Array] | undefined => waiting.entries().next().value;

  return {
    receive(error, message) {
      if (error) {
        options.log.warn(
          { reason: reasonOf(error) },
          'NATS does not permit this profile to receive announces: set up its users again',
        );
        return;
      }
      const from = announcerOf(message.subject);
      if (from === undefined || from === options.profile) return;
      const { length: bytes } = message.data;
      const drop = (what: string): void => options.log.warn({ peer: from, bytes }, `dropped ${what}`);
      if (isForwarded(message)) return drop('an announce that its profile did not send');
      if (bytes > MAX_BYTES || (waiting.size >= MAX_PENDING && !waiting.has(from)))
        return drop('an announce: too large, or too many');
      // Another profile can make the server send an acknowledgement here: it must not replace an announce.
      if (waiting.has(from) && !readAnnounceEvent(Buffer.from(message.data).toString('utf8')))
        return drop('a message that is not an announce');
      waiting.set(from, message.data);
      handling ??= handleAll();
    },
    async close() {
      waiting.clear();
      await handling;
    },
  };
}
