import type { Clock, Log } from '@hermes-fleet/protocol';
import type { NatsConnection } from 'nats';
import { type BusConnection, reasonOf } from '../connection/connection.ts';
import { type BusState, supervise } from '../connection/supervise.ts';
import { directGet } from '../streams/direct-get.ts';
import { auditSubject } from '../streams/subjects.ts';
import { type Head, headEvent, readHeadEvent } from './head-event.ts';

const MIN_INTERVAL_MS = 1_000;
const ACK_TIMEOUT_MS = 5_000;

export interface HeadPublisherOptions {
  readonly connection: BusConnection;
  /** Whose audit it is: the head goes to `fleet.audit.<service>`. */
  readonly service: string;
  /** The newest link as of now; `seq` 0 while there is none. */
  readonly head: () => Head;
  /**
   * Why this audit does not go on from the head that the bus holds (undefined: it holds none); undefined when it does.
   * Asked on every connection before anything is published; when it rejects, it is asked again.
   */
  readonly check: (found: Head | undefined) => Promise<string | undefined>;
  readonly clock: Clock;
  readonly log: Log;
  /** The shortest time from one publication to the next, default 1000 ms. */
  readonly everyMs?: number;
  /** How long an acknowledgement may take before the connection is given up, default 5000 ms. */
  readonly ackTimeoutMs?: number;
  /** 0 to 1, for the delays between attempts. */
  readonly random?: () => number;
  readonly onState?: (state: HeadState) => void;
}

export interface HeadState extends BusState {
  /** `unknown` until the bus was asked; `broken` is for good: nothing is published any more. */
  readonly audit: 'unknown' | 'ok' | 'broken';
  /** What is broken. */
  readonly reason: string | undefined;
}

/** The newest head of a service's audit, kept on the bus. */
export interface HeadPublisher {
  state(): HeadState;
  /** Says that there is a new head. Never blocks, never throws. */
  headChanged(): void;
  /** Publishes at once; resolves true once the bus holds the newest head, false after `timeoutMs`, `close()`, or when the audit is broken. */
  flush(timeoutMs: number): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * Keeps the head of an audit on JetStream, acknowledged, so that a chain whose tail was cut off is found at the next
 * start (design 4, State). It publishes nothing over a head that was not checked: the first of a connection is read back
 * and checked, and each says which message it takes the place of, or the stream refuses it.
 */
export function startHeadPublisher(o: HeadPublisherOptions): HeadPublisher {
  const subject = auditSubject(o.service);
  const everyMs = o.everyMs ?? MIN_INTERVAL_MS;
  const end = new AbortController();
  const idle = new Set<(published: boolean) => void>();
  let state: HeadState = { connected: false, lastError: undefined, audit: 'unknown', reason: undefined };
  let published: Head | undefined;
  let publishedAt: number | undefined;
  let waiting: 'for news' | 'its time' | undefined;
  let wake: () => void = () => {};

  const become = (change: Partial<HeadState>): void => {
    state = { ...state, ...change };
    o.onState?.(state);
  };
  const settle = (done: boolean): void => {
    for (const resolve of idle) resolve(done);
    idle.clear();
  };
  const isOut = (head: Head): boolean =>
    head.seq === 0 || (head.seq === published?.seq && head.hash === published.hash);

  /** The sequence of the message that the next head takes the place of, once it was checked; 0 for none. */
  async function checked(nc: NatsConnection): Promise<number> {
    const message = await directGet(nc, subject);
    const found = message && readHeadEvent(Buffer.from(message.data).toString('utf8'));
    const why =
      message && found === undefined
        ? `the bus holds on ${subject} what is no head of an audit (${message.data.length} bytes)`
        : await o.check(found);
    if (why !== undefined) {
      o.log.error({ reason: why, published: found }, 'the audit is broken: its head is published no more');
      become({ audit: 'broken', reason: why });
      end.abort();
      end.signal.throwIfAborted();
    }
    published = found;
    become({ audit: 'ok' });
    return message === undefined ? 0 : Number(message.headers?.last('Nats-Sequence'));
  }

  async function publish(nc: NatsConnection, head: Head, inPlaceOf: number): Promise<number> {
    const event = headEvent(o.service, head, o.clock.now());
    try {
      // Without an id: the server would take a head for a copy of one that an operator has removed since.
      const ack = await nc.jetstream().publish(subject, JSON.stringify(event), {
        timeout: o.ackTimeoutMs ?? ACK_TIMEOUT_MS,
        expect: { lastSubjectSequence: inPlaceOf },
      });
      return ack.seq;
    } catch (error) {
      throw new Error(`the head on ${subject}: ${reasonOf(error)}`, { cause: error });
    }
  }

  async function keepUp(nc: NatsConnection, healthy: () => void, broken: Promise<never>): Promise<never> {
    let inPlaceOf = await checked(nc);
    for (;;) {
      const woken = Promise.withResolvers<void>();
      wake = woken.resolve;
      const head = o.head();
      const sinceMs = publishedAt === undefined ? everyMs : o.clock.now() - publishedAt;
      if (isOut(head)) {
        healthy();
        settle(true);
        waiting = 'for news';
        await Promise.race([woken.promise, broken]);
      } else if (sinceMs >= 0 && sinceMs < everyMs && idle.size === 0) {
        waiting = 'its time';
        using _due = o.clock.timer(wake, everyMs - sinceMs);
        await Promise.race([woken.promise, broken]);
      } else {
        waiting = undefined;
        publishedAt = o.clock.now();
        inPlaceOf = await publish(nc, head, inPlaceOf);
        published = head;
        healthy();
      }
    }
  }

  const running = supervise({
    connection: o.connection,
    what: 'heads of the audit',
    clock: o.clock,
    random: o.random ?? Math.random,
    log: o.log,
    signal: end.signal,
    onState: become,
    session: async (nc, healthy) => {
      const close = (): void => void nc.close();
      end.signal.addEventListener('abort', close, { once: true });
      const broken = nc.closed().then((error) => {
        throw error ?? new Error('the server closed the connection');
      });
      try {
        await Promise.race([keepUp(nc, healthy, broken), broken]);
      } finally {
        waiting = undefined;
        end.signal.removeEventListener('abort', close);
      }
    },
  }).finally(() => {
    settle(false);
    become({ connected: false });
  });

  return {
    state: () => state,
    headChanged() {
      if (waiting === 'for news') wake();
    },
    async flush(timeoutMs) {
      if (end.signal.aborted) return state.audit !== 'broken' && isOut(o.head());
      const { promise, resolve } = Promise.withResolvers<boolean>();
      idle.add(resolve);
      wake();
      using _limit = o.clock.timer(() => resolve(false), timeoutMs);
      try {
        return await promise;
      } finally {
        idle.delete(resolve);
      }
    },
    async close() {
      end.abort();
      wake();
      await running;
    },
  };
}
