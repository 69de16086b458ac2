import { addAbortListener } from 'node:events';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { NatsConnection } from 'nats';
import { type BusConnection, endOf, reasonOf } from '../connection/connection.ts';
import { type BusState, supervise } from '../connection/supervise.ts';
import { Waiters } from '../connection/waiters.ts';
import { directGet } from '../streams/direct-get.ts';
import { auditSubject } from '../streams/subjects.ts';
import { type Head, headEvent, readHeadEvent } from './head-event.ts';

const MIN_INTERVAL_MS = 1_000;
const ACK_TIMEOUT_MS = 5_000;

export interface HeadPublisherOptions {
  readonly connection: BusConnection;
  /** The owner of the audit: its head is published on `fleet.audit.<service>`. */
  readonly service: string;
  /** The current head; `seq` is 0 while the audit is empty. */
  readonly head: () => Head;
  /** Returns what is published beside each head. A change of it alone publishes nothing. */
  readonly beside?: () => JsonObject;
  /**
   * Checks that this audit continues from the head on the bus (undefined: no head there). Resolves with the reason if it
   * does not. Called on every connection before anything is published; when it rejects, it is called again.
   */
  readonly check: (found: Head | undefined) => Promise<string | undefined>;
  readonly clock: Clock;
  readonly log: Log;
  /** The shortest time between two publications, default 1000 ms. */
  readonly everyMs?: number;
  /** The time limit for an acknowledgement, after which the connection is replaced; default 5000 ms. */
  readonly ackTimeoutMs?: number;
  /** 0 to 1, for the delays between attempts. */
  readonly random?: () => number;
  readonly onState?: (state: HeadState) => void;
}

export interface HeadState extends BusState {
  /** `unknown` until the head on the bus is checked; `broken` is final: this publisher publishes nothing more. */
  readonly audit: 'unknown' | 'ok' | 'broken';
  /** Why the audit is broken. */
  readonly reason: string | undefined;
}

/** Keeps the newest head of a service's audit on the bus. */
export interface HeadPublisher {
  state(): HeadState;
  /** The newest head that the bus is known to have. */
  published(): Head | undefined;
  /** Signals a new head. Never blocks, never throws. */
  headChanged(): void;
  /**
   * Publishes at once; resolves true once the bus holds the newest head, false after `timeoutMs`, `close()`, or when the
   * audit is broken.
   */
  flush(timeoutMs: number): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * Keeps the acknowledged head of an audit on JetStream, so that the next start detects a truncated chain
 * (docs/trader.md#audit). It never replaces an unchecked head: each connection first reads the stored head back and
 * checks it, and each publication names the message that it replaces, or the stream refuses it.
 */
export function startHeadPublisher(options: HeadPublisherOptions): HeadPublisher {
  const subject = auditSubject(options.service);
  const everyMs = options.everyMs ?? MIN_INTERVAL_MS;
  const end = new AbortController();
  const flushing = new Waiters(options.clock);
  let state: HeadState = { connected: false, lastError: undefined, audit: 'unknown', reason: undefined };
  let published: Head | undefined;
  let publishedAt: number | undefined;
  let waiting: 'for a change' | 'for the interval' | undefined;
  let wake: () => void = () => {};

  const setState = (change: Partial<HeadState>): void => {
    state = { ...state, ...change };
    options.onState?.(state);
  };
  const isPublished = (head: Head): boolean =>
    head.seq === 0 || (head.seq === published?.seq && head.hash === published.hash);

  /** Checks the stored head and returns the sequence of its message; 0 when there is none. */
  async function checkStored(nc: NatsConnection): Promise<number> {
    const message = await directGet(nc, subject);
    const found = message && readHeadEvent(Buffer.from(message.data).toString('utf8'));
    const problem =
      message && found === undefined
        ? `the message on ${subject} is not an audit head (${message.data.length} bytes)`
        : await options.check(found);
    if (problem !== undefined) {
      options.log.error(
        { reason: problem, published: found },
        'the audit is broken: its head is no longer published',
      );
      setState({ audit: 'broken', reason: problem });
      end.abort();
      end.signal.throwIfAborted();
    }
    published = found;
    setState({ audit: 'ok' });
    return message === undefined ? 0 : Number(message.headers?.last('Nats-Sequence'));
  }

  async function publish(nc: NatsConnection, head: Head, replacedSeq: number): Promise<number> {
    const event = headEvent(options.service, head, options.clock.now(), options.beside?.());
    try {
      // No message id: the server would drop a head as a duplicate of one that an operator has removed.
      const ack = await nc.jetstream().publish(subject, JSON.stringify(event), {
        timeout: options.ackTimeoutMs ?? ACK_TIMEOUT_MS,
        expect: { lastSubjectSequence: replacedSeq },
      });
      return ack.seq;
    } catch (error) {
      throw new Error(`the head on ${subject}: ${reasonOf(error)}`, { cause: error });
    }
  }

  async function keepUp(nc: NatsConnection, healthy: () => void, broken: Promise<never>): Promise<never> {
    let replacedSeq = await checkStored(nc);
    for (;;) {
      const woken = Promise.withResolvers<void>();
      wake = woken.resolve;
      const head = options.head();
      const sinceMs = publishedAt === undefined ? everyMs : options.clock.now() - publishedAt;
      if (isPublished(head)) {
        healthy();
        flushing.settle(true);
        waiting = 'for a change';
        await Promise.race([woken.promise, broken]);
      } else if (sinceMs >= 0 && sinceMs < everyMs && flushing.count === 0) {
        waiting = 'for the interval';
        using _due = options.clock.timer(wake, everyMs - sinceMs);
        await Promise.race([woken.promise, broken]);
      } else {
        waiting = undefined;
        publishedAt = options.clock.now();
        replacedSeq = await publish(nc, head, replacedSeq);
        published = head;
        healthy();
      }
    }
  }

  const running = supervise({
    connection: options.connection,
    component: 'audit head publisher',
    clock: options.clock,
    random: options.random,
    log: options.log,
    signal: end.signal,
    onState: setState,
    session: async (nc, healthy) => {
      using _end = addAbortListener(end.signal, () => void nc.close());
      const broken = endOf(nc);
      try {
        await Promise.race([keepUp(nc, healthy, broken), broken]);
      } finally {
        waiting = undefined;
      }
    },
  }).finally(() => {
    flushing.settle(false);
    setState({ connected: false });
  });

  return {
    state: () => state,
    published: () => published,
    headChanged() {
      if (waiting === 'for a change') wake();
    },
    async flush(timeoutMs) {
      if (end.signal.aborted) return state.audit !== 'broken' && isPublished(options.head());
      const done = flushing.wait(timeoutMs);
      wake();
      return await done;
    },
    async close() {
      end.abort();
      wake();
      await running;
    },
  };
}
