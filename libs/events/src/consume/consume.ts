import { type Clock, CloudEvent, type Log } from '@hermes-fleet/protocol';
import { type BusConnection, reasonOf } from '../connection/connection.ts';
import { supervise } from '../connection/supervise.ts';
import { streamOf } from '../streams/subjects.ts';
import { type Position, runConsumerSession } from './consumer-session.ts';

export interface EventMeta {
  /** The sequence in the stream: increases, with gaps. */
  readonly seq: number;
  readonly subject: string;
}

export interface ConsumeOptions {
  readonly connection: BusConnection;
  /** Which subjects, e.g. `fleet.task.neo.>`; of one stream, either events or announces. */
  readonly filter: string;
  /**
   * A name under which the server remembers what was handled; two readers of one name share the events. After a
   * crash of the server the memory may be older than the truth, and a new reader sees some events again.
   */
  readonly durable?: string;
  /** From the oldest event kept; otherwise from the moment the stream is first reached. A durable goes on where it was. */
  readonly fromStart?: boolean;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly clock: Clock;
  readonly random?: () => number;
  readonly onEvent: (event: CloudEvent, meta: EventMeta) => Promise<void> | void;
}

/**
 * Hands over the events of the bus one after the other, in the stream's order, across any number of broken
 * connections; resolves when the signal aborts. An event may come again (see `createDeduplicator`). What is not a
 * CloudEvent of ours, or was not sent by whose subject it is on, is logged and skipped. Rejects with what `onEvent` threw, and a durable gets that event again; and
 * with CONFIG_INVALID, before anything else, when no one stream has what the filter asks for.
 */
export async function consume(o: ConsumeOptions): Promise<void> {
  const stream = streamOf(o.filter);
  const position: Position = { after: undefined, created: undefined };
  const broken = new AbortController();
  let thrown: { readonly error: unknown } | undefined;

  const handle = async (data: string, meta: EventMeta): Promise<void> => {
    const event = parseEvent(data);
    if ('problem' in event) {
      o.log.warn({ ...meta, reason: event.problem }, 'skipped a message that is no event');
      return;
    }
    try {
      await o.onEvent(event.event, meta);
    } catch (error) {
      thrown = { error };
      broken.abort();
      throw error;
    }
  };

  await supervise({
    connection: o.connection,
    what: 'event consumer',
    clock: o.clock,
    random: o.random ?? Math.random,
    log: o.log,
    signal: AbortSignal.any([o.signal, broken.signal]),
    session: (nc, onHealthy) =>
      runConsumerSession({
        nc,
        inboxPrefix: o.connection.inboxPrefix,
        stream,
        filter: o.filter,
        durable: o.durable,
        fromStart: o.fromStart ?? false,
        position,
        signal: o.signal,
        onHealthy,
        handle,
        onForwarded: (meta) => o.log.warn(meta, 'skipped an event that its own profile has not sent'),
      }),
  });
  if (thrown) throw thrown.error;
}

function parseEvent(data: string): { event: CloudEvent } | { problem: string } {
  let json: unknown;
  try {
    json = JSON.parse(data);
  } catch (error) {
    return { problem: reasonOf(error) };
  }
  const parsed = CloudEvent.safeParse(json);
  if (parsed.success) return { event: parsed.data };
  const fields = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  return { problem: fields.slice(0, 5).join('; ') };
}
