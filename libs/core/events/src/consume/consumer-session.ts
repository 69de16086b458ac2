import { addAbortListener } from 'node:events';
import {
  AckPolicy,
  type ConsumerInfo,
  createInbox,
  DeliverPolicy,
  type JetStreamManager,
  type Msg,
  type NatsConnection,
  NatsError,
  nanos,
} from 'nats';
import { flushed, isForwarded } from '../connection/connection.ts';

const BATCH = 256;
const PULL_EXPIRES_MS = 30_000;
const INACTIVE_MS = 60_000;
const CONSUMER_NOT_FOUND = 10_014;

/** The position of a reader; kept across connections. */
export interface Position {
  /** The last handled stream sequence. */
  after: number | undefined;
  /** The creation time of the stream: a recreated stream restarts its sequences. */
  created: string | undefined;
}

export interface ConsumerSession {
  readonly nc: NatsConnection;
  readonly inboxPrefix: string | undefined;
  readonly stream: string;
  readonly filter: string;
  /** The name of the consumer; undefined: the server chooses. */
  readonly name?: string | undefined;
  readonly fromStart?: boolean | undefined;
  readonly position: Position;
  /** Return after the events that the stream held when the connection was opened. */
  readonly untilEnd?: boolean | undefined;
  /** The server sends no bodies. */
  readonly headersOnly?: boolean;
  readonly signal: AbortSignal;
  readonly onHealthy: () => void;
  /** Called when the stream is known, before its first event. */
  readonly onStream?: ((stream: StreamFacts) => void) | undefined;
  readonly handle: (data: string, meta: EventMeta, messageId: string) => Promise<void>;
  /** Called for a message that the owner of its subject has not sent; it is skipped. */
  readonly onForwarded: (meta: EventMeta) => Promise<void>;
}

export interface EventMeta {
  /** The sequence in the stream: increasing, with gaps. */
  readonly seq: number;
  readonly subject: string;
  /** The creation time of the stream, which tells it from one that was created again. */
  readonly created: string;
  /** The number of events that match the filter and are still to come. */
  readonly pending: number;
  /** When the server has stored the event, by its clock; ms since the epoch. */
  readonly storedAt: number;
}

/** What a stream holds when a reader connects. */
export interface StreamFacts {
  readonly created: string;
  /** The oldest sequence that is still stored, and the newest; 0 in an empty stream. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** The sequence that the reader continues behind. */
  readonly after: number;
}

/**
 * Reads over one connection until it throws the connection's failure, or the signal aborts and the current event is done,
 * or, with `untilEnd`, the end is reached.
 */
export async function runConsumerSession(session: ConsumerSession): Promise<void> {
  let handling = false;
  using _end = addAbortListener(session.signal, () => {
    if (!handling) void session.nc.close();
  });
  const reader = await openReader(session);
  if (session.untilEnd && reader.atEnd()) return;
  for await (const message of reader.messages) {
    handling = true;
    await reader.take(message);
    handling = false;
    if (session.signal.aborted || (session.untilEnd && reader.atEnd())) return;
  }
  throw new Error('the connection was closed');
}

async function openReader(session: ConsumerSession) {
  const jsm = await session.nc.jetstreamManager({ checkAPI: false });
  await fixPosition(jsm, session);
  const { name, num_pending: held } = await addConsumer(jsm, session);
  const inbox = createInbox(session.inboxPrefix);
  const messages = session.nc.subscribe(inbox);
  let wanted = 0;
  let delivered = 0;
  let isDrained = false;
  const pull = (): void => {
    wanted = BATCH;
    session.nc.publish(
      `$JS.API.CONSUMER.MSG.NEXT.${session.stream}.${name}`,
      JSON.stringify({ batch: BATCH, expires: nanos(PULL_EXPIRES_MS) }),
      { reply: inbox },
    );
  };
  const take = async (message: Msg): Promise<void> => {
    const delivery = deliveryOf(message);
    if (delivery === undefined) {
      if (!endsPull(message)) return;
      // Events that were held may have been removed since.
      isDrained = true;
      pull();
      return;
    }
    if (delivery.count !== delivered + 1)
      throw new Error(`delivery ${delivery.count} came after ${delivered}: events were lost in transit`);
    delivered = delivery.count;
    await deliver(session, message, delivery);
    wanted -= 1;
    if (wanted === 0) pull();
  };
  pull();
  await flushed(session.nc);
  session.onHealthy();
  return { messages, take, atEnd: () => isDrained || delivered >= held };
}

async function deliver(
  session: ConsumerSession,
  message: Msg,
  { seq, pending, storedAt }: Omit<Delivery, 'count'>,
): Promise<void> {
  const meta = {
    seq,
    subject: message.subject,
    created: session.position.created ?? '',
    pending,
    storedAt,
  };
  if (isForwarded(message)) await session.onForwarded(meta);
  else await session.handle(message.string(), meta, message.headers?.get('Nats-Msg-Id') ?? '');
  session.position.after = Math.max(session.position.after ?? 0, seq);
}

/** Sets the position to read from, and corrects it for a stream that was recreated or has lost its tail. */
async function fixPosition(jsm: JetStreamManager, session: ConsumerSession): Promise<void> {
  const { state, created } = await jsm.streams.info(session.stream);
  const { position } = session;
  if (position.after === undefined) position.after = session.fromStart ? 0 : state.last_seq;
  else if (position.created !== created) position.after = 0;
  else position.after = Math.min(position.after, state.last_seq);
  position.created = created;
  const { first_seq: firstSeq, last_seq: lastSeq } = state;
  session.onStream?.({ created, firstSeq, lastSeq, after: position.after });
}

async function addConsumer(jsm: JetStreamManager, session: ConsumerSession): Promise<ConsumerInfo> {
  // The one of the last connection may still be there, with an older position.
  if (session.name !== undefined) await deleteConsumer(jsm, session.stream, session.name);
  return await jsm.consumers.add(session.stream, {
    ...(session.name === undefined ? {} : { name: session.name }),
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: (session.position.after ?? 0) + 1,
    filter_subject: session.filter,
    ...(session.headersOnly === true ? { headers_only: true } : {}),
    inactive_threshold: nanos(INACTIVE_MS),
    mem_storage: true,
    num_replicas: 1,
  });
}

async function deleteConsumer(jsm: JetStreamManager, stream: string, name: string): Promise<void> {
  try {
    await jsm.consumers.delete(stream, name);
  } catch (error) {
    if (!(error instanceof NatsError && error.api_error?.err_code === CONSUMER_NOT_FOUND)) throw error;
  }
}

interface Delivery {
  readonly seq: number;
  readonly count: number;
  readonly pending: number;
  readonly storedAt: number;
}

/** `$JS.ACK.<stream>.<consumer>.<count>.<stream seq>.<consumer seq>.<time in ns>.<pending>`, with domain and account before the stream on newer servers. */
function deliveryOf(message: Msg): Delivery | undefined {
  const tokens = message.reply?.split('.') ?? [];
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK') return undefined;
  const at = tokens.length >= 11 ? 7 : 5;
  const [seq = 0, count = 0, storedAtNs = 0, pending = 0] = tokens.slice(at).map(Number);
  return { seq, count, pending, storedAt: Math.floor(storedAtNs / 1_000_000) };
}

/** True when a status message ends the pull request (expired); throws when the consumer is gone. */
function endsPull(message: Msg): boolean {
  const code = message.headers?.code ?? 0;
  if (code === 100) return false;
  if (code === 404 || code === 408) return true;
  throw new Error(`the consumer ended: ${code} ${message.headers?.description ?? ''}`.trim());
}
