import type { OutboxEvent, OutboxSource } from '@hermes-fleet/protocol/ports';
import type { NatsConnection, StreamInfo } from 'nats';
import { consumerOf } from '../streams/permissions.ts';
import { streamOf } from '../streams/subjects.ts';
import { storedNumbers } from './stored-numbers.ts';

const READ_BATCH = 512;
const MS_IN_NS = 1_000_000;
/** How far the clocks of a profile and of NATS may differ. */
const CLOCK_MARGIN_MS = 60_000;

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
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/** Compares a store with the stream as far as that costs no reading of the stream. */
export async function mayLackEvents(options: GapOptions, lastStored: number): Promise<boolean> {
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
  const since = removedUntil(info, options.now());
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
