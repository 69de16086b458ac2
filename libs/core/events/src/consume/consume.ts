import { CloudEvent, parseJson } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { BusConnection } from '../connection/connection.ts';
import { type BusState, supervise } from '../connection/supervise.ts';
import { streamOf } from '../streams/subjects.ts';
import { type EventMeta, type Position, runConsumerSession, type StreamFacts } from './consumer-session.ts';

/** A position that a reader has stored with what it made of the events up to it. */
export interface StreamPosition {
  /** The sequence of the last event that was handled. */
  readonly seq: number;
  /** `EventMeta.created` of that event. */
  readonly created: string;
}

export interface ConsumeOptions {
  readonly connection: BusConnection;
  /** The subjects to read, e.g. `fleet.task.neo.>`, all of one stream. */
  readonly filter: string;
  /**
   * The name of the consumer on the server, which chooses one by default. A reader takes the place of another one with its
   * name. A user that may create only certain names (readerPermissions) needs one.
   */
  readonly name?: string;
  /** True: read from the oldest stored event; otherwise from the first connection on. */
  readonly fromStart?: boolean;
  /**
   * The position to continue behind; takes precedence over `fromStart`. A stream that was created again is read from its
   * start.
   */
  readonly after?: StreamPosition | undefined;
  /** True: resolve after the events that the stream held at the connection. */
  readonly untilEnd?: boolean;
  /** Is called when the bus is reached or lost, and after every attempt that fails. */
  readonly onState?: (state: BusState) => void;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly clock: Clock;
  readonly random?: () => number;
  readonly onEvent: (event: CloudEvent, meta: EventMeta) => Promise<void> | void;
  /** Is called for each message that is skipped, in its turn; an error of it counts as one of `onEvent`. */
  readonly onSkipped?: (reason: string, meta: EventMeta) => Promise<void> | void;
  /** Is called at every connection, before its first event. */
  readonly onStream?: (stream: StreamFacts) => void;
}

/**
 * Delivers the events of the bus one at a time, in the stream's order, across reconnects; resolves when the signal
 * aborts, or at the end with `untilEnd`. Delivery is at least once. A message that is not a CloudEvent of the fleet, or that
 * the owner of its subject has not sent, is logged and skipped. Rejects with the error of `onEvent`, and with CONFIG_INVALID
 * when the filter does not match exactly one stream.
 */
export async function consume(options: ConsumeOptions): Promise<void> {
  const stream = streamOf(options.filter);
  const position: Position = { after: options.after?.seq, created: options.after?.created };
  const broken = new AbortController();
  let thrown: { readonly error: unknown } | undefined;

  const guarded = async (work: () => Promise<void> | void): Promise<void> => {
    try {
      await work();
    } catch (error) {
      thrown = { error };
      broken.abort();
      throw error;
    }
  };
  const skip = (reason: string, meta: EventMeta): Promise<void> =>
    guarded(() => options.onSkipped?.(reason, meta));

  const handle = async (data: string, meta: EventMeta): Promise<void> => {
    const event = parseEvent(data);
    if ('problem' in event) {
      options.log.warn({ ...meta, reason: event.problem }, 'skipped a message that is not an event');
      return await skip(event.problem, meta);
    }
    await guarded(() => options.onEvent(event.event, meta));
  };

  await supervise({
    connection: options.connection,
    component: 'event consumer',
    clock: options.clock,
    random: options.random,
    log: options.log,
    signal: AbortSignal.any([options.signal, broken.signal]),
    onState: options.onState,
    session: async (nc, onHealthy) => {
      await runConsumerSession({
        ...options,
        nc,
        inboxPrefix: options.connection.inboxPrefix,
        stream,
        position,
        onHealthy,
        handle,
        onForwarded: async (meta) => {
          options.log.warn(meta, 'skipped an event that its profile did not send');
          await skip('not sent by the owner of its subject', meta);
        },
      });
      // A session that ends without an error has been told to, or has reached the end.
      broken.abort();
    },
  });
  if (thrown) throw thrown.error;
}

function parseEvent(data: string): { event: CloudEvent } | { problem: string } {
  const json = parseJson(data);
  if (json === undefined) return { problem: 'not JSON' };
  const parsed = CloudEvent.safeParse(json);
  if (parsed.success) return { event: parsed.data };
  const fields = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  return { problem: fields.slice(0, 5).join('; ') };
}
