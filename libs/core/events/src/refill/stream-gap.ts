import type { Clock, Log, OutboxEvent, OutboxSource } from '@hermes-fleet/protocol/ports';
import { type NatsConnection, NatsError, type StreamInfo } from 'nats';
import { reasonOf } from '../connection/connection.ts';
import { runConsumerSession } from '../consume/consumer-session.ts';
import { consumerOf } from '../streams/permissions.ts';
import { streamOf } from '../streams/subjects.ts';

const READ_BATCH = 512;
const MS_IN_NS = 1_000_000;
/** How far the clocks of a profile and of NATS may differ. */
const CLOCK_MARGIN_MS = 60_000;
const AGAIN_MS = 60_000;
/** After a comparison that failed, as where the stream has not been made yet. */
const RETRY_MS = 5_000;

/** The events that a store still has, and the number up to which the bus has acknowledged them. */
export type Acknowledged = Pick<OutboxSource, 'read' | 'cursor'>;

export interface StreamGap {
  /** When the stream was created (RFC 3339). */
  readonly created: string;
  /** The number of events of the store that the bus has acknowledged. */
  readonly acknowledged: number;
  /** The numbers of those that the stream lacks, in order. */
  readonly missing: readonly number[];
}

export interface GapOptions {
  readonly nc: NatsConnection;
  readonly inboxPrefix: string | undefined;
  readonly source: Acknowledged;
  readonly subjectPrefixes: readonly string[];
  /** The prefix of the consumers that read the stream back. */
  readonly reader: string;
  readonly clock: Pick<Clock, 'now'>;
  readonly signal: AbortSignal;
}

/** Compares a store with the stream as far as that costs no reading of the stream. */
async function mayLackEvents(options: GapOptions, lastStored: number): Promise<boolean> {
  const { source } = options;
  const cursor = source.cursor();
  const [oldest] = source.read(0, 1);
  if (oldest === undefined || oldest.seq > cursor) return false;
  if (lastStored < cursor) return true;
  const { created } = await streamInfo(options);
  return Date.parse(oldest.event.time) < Date.parse(created);
}

/**
 * Finds the acknowledged events that the stream lacks: those that are not there although they are newer than everything that
 * the stream's own limits have removed. Events of a stream that was full or old before it was lost are therefore not missed
 * where a whole stream would have removed them.
 */
export async function findGap(options: GapOptions): Promise<StreamGap> {
  const { source, subjectPrefixes, signal } = options;
  const cursor = source.cursor();
  const infos = await Promise.all(subjectPrefixes.map((prefix) => streamInfo(options, `${prefix}.>`)));
  const [info] = infos;
  const [first] = source.read(0, 1);
  if (info === undefined || first === undefined) return { created: '', acknowledged: 0, missing: [] };
  const idPrefix = first.event.id.slice(0, first.event.id.lastIndexOf(':') + 1);
  const stored: ReadonlySet<number>[] = [];
  for (const [at, prefix] of subjectPrefixes.entries()) {
    const expected = Object.values(infos[at]?.state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
    const filter = `${prefix}.>`;
    const name = consumerOf(options.reader, filter);
    if (expected > 0) stored.push(await storedNumbers({ ...options, filter, name, idPrefix, expected }));
  }
  const since = removedUntil(info, options.clock.now());
  const missing: number[] = [];
  let acknowledged = 0;
  for await (const { seq, event } of eventsUpTo(source, cursor, signal)) {
    acknowledged += 1;
    if (Date.parse(event.time) >= since && !stored.some((numbers) => numbers.has(seq))) missing.push(seq);
  }
  return { created: String(info.created), acknowledged, missing };
}

/** The events up to a number, in order; other work goes on between the batches. */
export async function* eventsUpTo(
  source: Acknowledged,
  cursor: number,
  signal: AbortSignal,
): AsyncGenerator<OutboxEvent> {
  for (let after = 0; ; ) {
    signal.throwIfAborted();
    const batch = source.read(after, READ_BATCH).filter(({ seq }) => seq <= cursor);
    yield* batch;
    const last = batch.at(-1);
    if (last === undefined || batch.length < READ_BATCH) return;
    after = last.seq;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/**
 * The time before which the stream's limits have removed events (ms since the epoch). An event is stored after its own time:
 * one that is newer than the first event of the stream was stored behind it, and only age and size remove, from the front.
 */
function removedUntil({ config, state }: StreamInfo, now: number): number {
  const byAge = config.max_age > 0 ? now - config.max_age / MS_IN_NS : Number.NEGATIVE_INFINITY;
  const hasRemoved = state.first_seq > 1;
  const first = state.messages === 0 ? now : Date.parse(String(state.first_ts));
  const bySize = hasRemoved ? first : Number.NEGATIVE_INFINITY;
  return Math.max(byAge, bySize) + CLOCK_MARGIN_MS;
}

async function streamInfo({ nc, subjectPrefixes }: GapOptions, filter?: string): Promise<StreamInfo> {
  const jsm = await nc.jetstreamManager({ checkAPI: false });
  const stream = streamOf(`${subjectPrefixes[0] ?? ''}.>`);
  return await jsm.streams.info(stream, filter === undefined ? undefined : { subjects_filter: filter });
}

/**
 * The numbers of a store's events that the stream holds, from the message ids of a subject. Only headers are read.
 * `name` is a consumer that the user may create (see busPermissions); a second reader of that name takes its place. Throws
 * when the copy of the stream that answered lags behind the others.
 */
async function storedNumbers(
  options: Pick<GapOptions, 'nc' | 'inboxPrefix' | 'signal'> & {
    readonly filter: string;
    readonly name: string;
    /** What comes before the number in the ids of the store, e.g. `neo:<ledger>:`. */
    readonly idPrefix: string;
    /** How many messages of the subject the leader of the stream has. */
    readonly expected: number;
  },
): Promise<ReadonlySet<number>> {
  const { filter, idPrefix, expected } = options;
  const numbers = new Set<number>();
  let messages = 0;
  const count = (): void => {
    messages += 1;
  };
  await runConsumerSession({
    ...options,
    stream: streamOf(filter),
    fromStart: true,
    position: { after: undefined, created: undefined },
    untilEnd: true,
    headersOnly: true,
    onHealthy: () => {},
    onForwarded: async () => count(),
    handle: async (_data, _meta, messageId) => {
      count();
      if (messageId.startsWith(idPrefix)) numbers.add(Number(messageId.slice(idPrefix.length)));
    },
  });
  options.signal.throwIfAborted();
  if (messages < expected)
    throw new Error(
      `only ${messages} of ${expected} events of ${filter} could be read: another reader took the place of this one, or a copy of the stream lags`,
    );
  return numbers;
}

interface WatchGapOptions extends GapOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** The number of the newest event of the store that the stream holds; 0 for none. */
  readonly lastStored: () => Promise<number>;
  /** Is called with the number of acknowledged events that the stream lacks, at each comparison. */
  readonly onMissing: (count: number) => void;
}

/**
 * Compares the stream with what it has acknowledged, once for a connection, and again every minute while it lacks events.
 * A comparison that fails is made again after 5 s.
 * Never rejects: publishing goes on whatever is found.
 */
export async function watchGap(options: WatchGapOptions): Promise<void> {
  const { clock, log, signal } = options;
  let reported = 0;
  let failure = '';
  for (;;) {
    let pause = AGAIN_MS;
    try {
      const found = (await mayLackEvents(options, await options.lastStored())) && (await findGap(options));
      const count = found ? found.missing.length : 0;
      options.onMissing(count);
      if (found && count > 0 && count !== reported)
        log.warn(
          { missing: count, acknowledged: found.acknowledged, stream_created: found.created },
          `the event stream lacks ${count} events that it had acknowledged: fleet nats refill publishes them again`,
        );
      reported = count;
      if (count === 0) return;
    } catch (error) {
      if (signal.aborted) return;
      const isForbidden = error instanceof NatsError && error.code === 'PERMISSIONS_VIOLATION';
      const reason = reasonOf(error);
      if (isForbidden) {
        log.warn(
          { reason },
          'whether the event stream lacks events is not known: NATS has the permissions of an older version; fleet keys init writes those of this one',
        );
        return;
      }
      if (reason !== failure)
        log.info({ reason }, 'the event stream could not be compared with the outbox; trying again');
      failure = reason;
      pause = RETRY_MS;
    }
    await clock.sleep(pause, signal).catch(() => undefined);
    if (signal.aborted) return;
  }
}
