import type { OutboxSource } from '@hermes-fleet/protocol';
import type { NatsConnection } from 'nats';
import { directGet } from '../streams/direct-get.ts';
import { DUPLICATE_WINDOW_MS } from '../streams/stream-config.ts';

/** A message that the stream holds: its `Nats-Msg-Id`, and when the server stored it (ms since the epoch). */
export interface StoredMessage {
  readonly id: string;
  readonly storedAt: number;
}

/** Copies are sent again only while the server surely knows their ids; half the window leaves room for clock skew. */
const RESEND_WITHIN_MS = DUPLICATE_WINDOW_MS / 2;

/** The last message of a subject, which may hold wildcards; undefined when there is none. A missing stream is silent. */
export async function lastMessage(nc: NatsConnection, subject: string): Promise<StoredMessage | undefined> {
  const headers = (await directGet(nc, subject))?.headers;
  if (headers === undefined) return undefined;
  const storedAt = Date.parse(headers.get('Nats-Time-Stamp'));
  if (Number.isNaN(storedAt))
    throw new Error(`reading back the last event of ${subject} failed: it has no time`);
  return { id: headers.get('Nats-Msg-Id'), storedAt };
}

const sequenceOf = (id: string): number => Number(id.slice(id.lastIndexOf(':') + 1));
const ledgerOf = (id: string): string => id.slice(0, id.lastIndexOf(':'));

/** The sequence of a stored message in this outbox; undefined when the id is not one of its own. */
function ownSequence(source: OutboxSource, message: StoredMessage | undefined): number | undefined {
  if (message === undefined) return undefined;
  const seq = sequenceOf(message.id);
  if (!Number.isSafeInteger(seq) || seq < 1) return undefined;
  return source.read(seq - 1, 1)[0]?.event.id === message.id ? seq : undefined;
}

export interface ResumePoint {
  /** Go on with the events after this sequence. */
  readonly after: number;
  /** The stream holds an id of this very ledger that the ledger has not given out: it was put back to an older state. */
  readonly foreignId?: string;
}

/**
 * Where to go on after a break, when an acknowledgement may have been lost although its event was stored.
 *
 * `last` is the newest of our messages in the stream, `lastLikeFirst` the newest with the subject of the first event
 * that waits. The newest one proves only itself: an event before it may have been refused on its own. So while the
 * server recognises ids, everything after the cursor goes out again in order: what is there is dropped and
 * acknowledged, what is missing is stored. Later than that, copies would be stored twice, and the proof by the
 * newest message (and by the first one's own subject) is taken. Ids of another ledger are not ours and prove nothing.
 */
export function resumePoint(o: {
  source: OutboxSource;
  last: StoredMessage | undefined;
  lastLikeFirst: StoredMessage | undefined;
  now: number;
}): ResumePoint {
  const cursor = o.source.cursor();
  const [first] = o.source.read(cursor, 1);
  if (first === undefined || o.last === undefined) return { after: cursor };
  const stored = ownSequence(o.source, o.last);
  if (stored === undefined) {
    const ours = ledgerOf(o.last.id) === ledgerOf(first.event.id) && sequenceOf(o.last.id) > cursor;
    return ours ? { after: cursor, foreignId: o.last.id } : { after: cursor };
  }
  const firstIsThere = (ownSequence(o.source, o.lastLikeFirst) ?? 0) >= first.seq;
  if (stored < first.seq || !firstIsThere) return { after: cursor };
  return { after: o.now - o.last.storedAt < RESEND_WITHIN_MS ? cursor : stored };
}
