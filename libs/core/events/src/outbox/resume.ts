import type { OutboxEvent, OutboxSource } from '@hermes-fleet/protocol/ports';
import type { NatsConnection } from 'nats';
import { directGet } from '../streams/direct-get.ts';
import { DUPLICATE_WINDOW_MS } from '../streams/stream-config.ts';

/** A message in the stream: its `Nats-Msg-Id`, the time the server stored it (ms since the epoch), and its place. */
export interface StoredMessage {
  readonly id: string;
  readonly storedAt: number;
  readonly streamSeq: number;
}

/** Events are resent only while the server still knows their ids; half the window allows for clock skew. */
const RESEND_WITHIN_MS = DUPLICATE_WINDOW_MS / 2;

/** Reads id and time of the last stored message of a subject or wildcard; undefined when there is none. */
export async function lastMessage(nc: NatsConnection, subject: string): Promise<StoredMessage | undefined> {
  const headers = (await directGet(nc, subject))?.headers;
  if (headers === undefined) return undefined;
  const storedAt = Date.parse(headers.get('Nats-Time-Stamp'));
  if (Number.isNaN(storedAt))
    throw new Error(`reading back the last event of ${subject} failed: it has no time`);
  return { id: headers.get('Nats-Msg-Id'), storedAt, streamSeq: Number(headers.last('Nats-Sequence')) };
}

/** The message that was stored last. Of the same millisecond, it is the one with the highest number. */
export const newestOf = (messages: readonly (StoredMessage | undefined)[]): StoredMessage | undefined =>
  messages
    .filter((message) => message !== undefined)
    .sort((a, b) => a.storedAt - b.storedAt || sequenceOf(a.id) - sequenceOf(b.id))
    .at(-1);

const sequenceOf = (id: string): number => Number(id.slice(id.lastIndexOf(':') + 1));
const ledgerOf = (id: string): string => id.slice(0, id.lastIndexOf(':'));

/** The outbox sequence of a stored message; undefined when its id is not from this outbox. */
export function ownSequence(source: OutboxSource, message: StoredMessage | undefined): number | undefined {
  if (message === undefined) return undefined;
  const seq = sequenceOf(message.id);
  if (!Number.isSafeInteger(seq) || seq < 1) return undefined;
  return source.read(seq - 1, 1)[0]?.event.id === message.id ? seq : undefined;
}

export interface ResumePoint {
  /** Resume with the events after this sequence. */
  readonly after: number;
  /** An id of this ledger in the stream that the ledger has not issued: it was restored to an older state. */
  readonly foreignId?: string;
}

/**
 * Decides where to resume after an interruption, when an acknowledgement may be lost although its event was stored.
 *
 * `last` is this outbox's newest message in the stream, `lastLikeFirst` the newest with the subject of the first pending
 * event. A stored message proves only itself: an earlier event may have been refused. While the server still recognizes
 * ids, everything after the cursor is therefore sent again in order; the server drops and acknowledges duplicates and
 * stores what is missing. Later, resending would store events twice, so the two messages together are taken as proof
 * that the events up to `last` are stored. Ids of another ledger prove nothing.
 */
export function resumePoint(options: {
  source: OutboxSource;
  last: StoredMessage | undefined;
  lastLikeFirst: StoredMessage | undefined;
  now: number;
}): ResumePoint {
  const cursor = options.source.cursor();
  const [first] = options.source.read(cursor, 1);
  if (first === undefined || options.last === undefined) return { after: cursor };
  const stored = ownSequence(options.source, options.last);
  if (stored === undefined) {
    const ours =
      ledgerOf(options.last.id) === ledgerOf(first.event.id) && sequenceOf(options.last.id) > cursor;
    return ours ? { after: cursor, foreignId: options.last.id } : { after: cursor };
  }
  const firstIsThere = (ownSequence(options.source, options.lastLikeFirst) ?? 0) >= first.seq;
  if (stored < first.seq || !firstIsThere) return { after: cursor };
  return { after: options.now - options.last.storedAt < RESEND_WITHIN_MS ? cursor : stored };
}

/** True for an event that may have been stored so long ago that the server no longer knows its id. */
export const mayBeForgotten = ({ event }: OutboxEvent, now: number): boolean =>
  now - Date.parse(event.time) >= RESEND_WITHIN_MS;
