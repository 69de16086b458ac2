import {
  type Clock,
  failureCode,
  type Log,
  type OutboxEvent,
  type OutboxSource,
  type Span,
  type Tracing,
} from '@hermes-fleet/protocol/ports';
import type { NatsConnection } from 'nats';
import { endOf, reasonOf } from '../connection/connection.ts';
import { InFlight } from './in-flight.ts';
import { lastMessage, mayBeForgotten, newestOf, ownSequence, resumePoint } from './resume.ts';

const READ_BATCH = 256;
/** How far back, in numbers, a new session on a cluster sends acknowledged events again. */
const RESENT_NUMBERS = 64;
/** Allowance for headers when a body is compared with the server's payload limit. */
const HEADER_BYTES = 1024;
/** The limit of acknowledged events without a durable cursor, in windows: bounds the resends after a crash. */
const UNSAVED_WINDOWS = 4;

export interface PublishSession {
  readonly nc: NatsConnection;
  readonly source: OutboxSource;
  readonly subjectPrefixes: readonly string[];
  readonly window: number;
  readonly ackTimeoutMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracing?: Tracing | undefined;
  readonly signal: AbortSignal;
  readonly onHealthy: () => void;
  readonly onAdvanced: () => void;
  /** Called once the bus answers, with a function that reads the number of this outbox's newest event in the stream. */
  readonly onReadBack: (lastStored: () => Promise<number>) => void;
  readonly onPublished: (result: 'ok' | 'error') => void;
}

/**
 * Publishes over one connection, in order, until the first failure, which it throws. It is then unknown which events in
 * flight were stored, so only a new session, which reads the stream back first, can continue in order.
 */
export async function runPublishSession(session: PublishSession): Promise<never> {
  const failure = new AbortController();
  const fail = (error: unknown): void => failure.abort(error);
  const signal = AbortSignal.any([session.signal, failure.signal]);
  const js = session.nc.jetstream();
  const inFlight = new InFlight();
  // A new leader of a stream may store a later event of the window although its predecessor lost an earlier one.
  const isClustered = session.nc.info?.cluster !== undefined;
  const window = isClustered ? 1 : session.window;
  let wake: () => void = () => {};
  const saver = createCursorSaver(session, fail, () => wake());
  const onEnd = (): void => {
    wake();
    void session.nc.close();
  };
  signal.addEventListener('abort', onEnd, { once: true });
  endOf(session.nc).catch(fail);

  const send = (entry: OutboxEvent, expect: { lastSubjectSequence?: number } = {}): void => {
    const body = encode(entry, session.nc.info?.max_payload);
    const sent = inFlight.send(entry.seq);
    const span = startSpan(session.tracing, entry);
    const options = { msgID: entry.event.id, timeout: session.ackTimeoutMs, expect };
    js.publish(entry.subject, body, options).then(
      () => {
        span?.end();
        if (signal.aborted) return;
        session.onPublished('ok');
        session.onHealthy();
        const run = inFlight.acknowledge(sent);
        if (run) saver.save(run.upTo, run.count);
        wake();
      },
      (error: unknown) => {
        span?.end(failureCode(error));
        fail(new Error(`event ${entry.event.id} on ${entry.subject}: ${reasonOf(error)}`, { cause: error }));
      },
    );
  };

  const waitForCapacity = async (limit = window): Promise<void> => {
    while (inFlight.size >= limit || saver.unsaved() >= session.window * UNSAVED_WINDOWS) {
      signal.throwIfAborted();
      const woken = Promise.withResolvers<void>();
      wake = woken.resolve;
      await woken.promise;
    }
    signal.throwIfAborted();
  };

  try {
    let position = await readBack(session);
    if (isClustered) await resendNewest(session, signal);
    session.onReadBack(() => lastStored(session));
    let expect = await expectationOf(session, position);
    if (session.source.read(position, 1).length === 0) session.onHealthy();
    for (;;) {
      const batch = session.source.read(position, READ_BATCH);
      if (batch.length === 0) await session.source.wait(position, signal);
      for (const entry of batch) {
        await waitForCapacity();
        send(entry, expect);
        position = entry.seq;
        if (expect) await waitForCapacity(1);
        expect = undefined;
      }
    }
  } catch (error) {
    fail(error);
    if (!session.signal.aborted)
      for (let n = inFlight.unacknowledged; n > 0; n -= 1) session.onPublished('error');
    throw failure.signal.reason;
  } finally {
    await saver.settled();
  }
}

/** A span of its own trace, linked to that of the event: an event may be published long after its task. */
function startSpan(tracing: Tracing | undefined, { event, subject }: OutboxEvent): Span | undefined {
  const { traceparent, id, type } = event;
  // An event of a trace that is not exported has no span. The sampler decides again for the span's own trace.
  if (!tracing || traceparent?.endsWith('-01') !== true) return undefined;
  return tracing.start(`publish ${type}`, {
    kind: 'producer',
    links: [traceparent],
    attributes: {
      'messaging.system': 'nats',
      'messaging.operation.name': 'publish',
      'messaging.destination.name': subject,
      'messaging.message.id': id,
    },
  });
}

function encode(entry: OutboxEvent, maxPayload = 1024 * 1024): Uint8Array {
  const body = Buffer.from(JSON.stringify(entry.event));
  if (body.length + HEADER_BYTES <= maxPayload) return body;
  throw new Error(
    `event ${entry.event.id} has ${body.length} bytes, more than this NATS server takes: raise its max_payload above ${body.length + HEADER_BYTES}`,
  );
}

/** Compares the stream with the outbox, advances the cursor as far as that proves, and returns where to resume. */
async function readBack(session: PublishSession): Promise<number> {
  const [first] = session.source.read(session.source.cursor(), 1);
  const [lasts, lastLikeFirst] = await Promise.all([
    Promise.all(session.subjectPrefixes.map((prefix) => lastMessage(session.nc, `${prefix}.>`))),
    first === undefined ? undefined : lastMessage(session.nc, first.subject),
  ]);
  const last = newestOf(lasts);
  const point = resumePoint({ source: session.source, last, lastLikeFirst, now: session.clock.now() });
  if (point.foreignId !== undefined) {
    session.log.error(
      { event_id: point.foreignId },
      'the event stream holds an event that this ledger has not written: the ledger was restored to an older state, and the bus may drop its next events as duplicates',
    );
  }
  if (point.after > session.source.cursor()) {
    await session.source.advance(point.after);
    session.onAdvanced();
  }
  return point.after;
}

/**
 * Sends the newest acknowledged events again, in order: servers that were cut off from each other, or killed, have been seen to
 * lose the last ones that they had acknowledged. The server drops those that it has, because it still knows their ids.
 */
async function resendNewest(
  { nc, source, clock, ackTimeoutMs }: PublishSession,
  signal: AbortSignal,
): Promise<void> {
  const cursor = source.cursor();
  const newest = source
    .read(Math.max(0, cursor - RESENT_NUMBERS), RESENT_NUMBERS)
    .filter((entry) => entry.seq <= cursor && !mayBeForgotten(entry, clock.now()));
  for (const { subject, event } of newest) {
    signal.throwIfAborted();
    await nc.jetstream().publish(subject, JSON.stringify(event), { msgID: event.id, timeout: ackTimeoutMs });
  }
}

/** The number of this outbox's newest event in the stream; 0 for none. */
async function lastStored({ nc, source, subjectPrefixes }: PublishSession): Promise<number> {
  const lasts = await Promise.all(subjectPrefixes.map((prefix) => lastMessage(nc, `${prefix}.>`)));
  return Math.max(0, ...lasts.map((last) => ownSequence(source, last) ?? 0));
}

/**
 * What the stream must still hold when the first event after `position` is stored. In a cluster a copy that lags may have
 * answered the reads: the leader then refuses the event, and a new session reads again. Undefined while the server drops
 * duplicates.
 */
async function expectationOf(
  session: PublishSession,
  position: number,
): Promise<{ lastSubjectSequence: number } | undefined> {
  const [next] = session.source.read(position, 1);
  if (next === undefined || !mayBeForgotten(next, session.clock.now())) return undefined;
  const last = await lastMessage(session.nc, next.subject);
  return { lastSubjectSequence: last?.streamSeq ?? 0 };
}

/** Persists the cursor, one write at a time, always at the newest position. */
function createCursorSaver(session: PublishSession, fail: (error: unknown) => void, onSaved: () => void) {
  let upTo = 0;
  let unsaved = 0;
  let running: Promise<void> | undefined;
  const run = async (): Promise<void> => {
    try {
      while (unsaved > 0) {
        const count = unsaved;
        await session.source.advance(upTo);
        unsaved -= count;
        onSaved();
        session.onAdvanced();
      }
    } catch (error) {
      fail(error);
    } finally {
      running = undefined;
    }
  };
  return {
    save: (seq: number, count: number): void => {
      upTo = seq;
      unsaved += count;
      running ??= run();
    },
    unsaved: (): number => unsaved,
    settled: async (): Promise<void> => running,
  };
}
