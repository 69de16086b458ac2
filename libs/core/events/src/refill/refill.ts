import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, OutboxEvent } from '@hermes-fleet/protocol/ports';
import { headers, type NatsConnection } from 'nats';
import { type BusConnection, openConnection, reasonOf } from '../connection/connection.ts';
import { type Acknowledged, eventsUpTo, findGap, type StreamGap } from './stream-gap.ts';

/** The header of an event that was published again; its value is the time of that (RFC 3339). */
export const REFILLED = 'Fleet-Refilled';

const WINDOW = 64;
const ACK_TIMEOUT_MS = 10_000;
const DEADLINE_MS = 30 * 60 * 1000;

export interface RefillOptions {
  readonly connection: BusConnection;
  readonly source: Acknowledged;
  readonly subjectPrefixes: readonly string[];
  /** The prefix of the consumers that read the stream back; another one than that of the service that runs. */
  readonly reader: string;
  readonly clock: Clock;
  /** Only find out what is missing. */
  readonly dryRun?: boolean;
}

export interface Refilled extends Omit<StreamGap, 'missing'> {
  readonly missing: number;
  readonly published: number;
}

/**
 * Publishes again what the bus has acknowledged and the stream lacks, in order and under the same ids, each with the header
 * `Fleet-Refilled`. Writes nothing to the store, so that its owner may run. Throws PEER_UNREACHABLE with what was done when the
 * bus stops to answer: another call continues.
 */
export async function refill(options: RefillOptions): Promise<Refilled> {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  let published = 0;
  try {
    await using nc = await openConnection(options.connection, signal);
    const gap = await findGap({
      ...options,
      nc,
      inboxPrefix: options.connection.inboxPrefix,
      signal,
    });
    if (!options.dryRun)
      await publishAll(nc, missingOf(options.source, gap.missing, signal), options.clock, () => {
        published += 1;
      });
    return { ...gap, missing: gap.missing.length, published };
  } catch (error) {
    throw new FleetError(
      'PEER_UNREACHABLE',
      `the stream could not be ${options.dryRun ? 'read' : 'refilled'}: ${reasonOf(error)}; ${published} events were published, and another run continues`,
      { cause: error },
    );
  }
}

async function* missingOf(
  source: Acknowledged,
  missing: readonly number[],
  signal: AbortSignal,
): AsyncGenerator<OutboxEvent> {
  const wanted = new Set(missing);
  for await (const entry of eventsUpTo(source, missing.at(-1) ?? 0, signal))
    if (wanted.has(entry.seq)) yield entry;
}

/** Publishes in order; in a cluster one at a time, because a new leader could store a later event before an earlier one. */
async function publishAll(
  nc: NatsConnection,
  events: AsyncIterable<OutboxEvent>,
  clock: Clock,
  onPublished: () => void,
): Promise<void> {
  const js = nc.jetstream();
  const window = nc.info?.cluster === undefined ? WINDOW : 1;
  const inFlight: Promise<unknown>[] = [];
  for await (const { subject, event } of events) {
    const marks = headers();
    marks.set(REFILLED, new Date(clock.now()).toISOString());
    const options = { msgID: event.id, timeout: ACK_TIMEOUT_MS, headers: marks };
    const sent = js.publish(subject, JSON.stringify(event), options).then(onPublished);
    // Awaited below; without this, one that fails meanwhile would end the process.
    sent.catch(() => {});
    inFlight.push(sent);
    if (inFlight.length >= window) await inFlight.shift();
  }
  await Promise.all(inFlight);
}
