import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { FastifyReply } from 'fastify';
import { CLIENT_GONE, CLOSING } from '../server/open-calls.ts';
import type { Call } from '../server/request-handler.ts';
import { type Exchange, toError } from './exchange.ts';

interface SseEvent {
  readonly id?: string;
  readonly data: JsonObject;
}

/** The longest time that a client may leave a full buffer unread. */
const STALL_MS = 60_000;
/** The longest time for the last bytes of a stream. */
const END_MS = 2_000;

/** The JSON-RPC replies that the SDK's transport yields for a streaming method. */
export type Envelopes = AsyncGenerator<unknown, void, undefined>;

export function isStream(result: unknown): result is Envelopes {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result;
}

/** Sends the replies as SSE. Throws before anything is sent when the stream fails before its first event. */
export async function streamReplies(exchange: Exchange, call: Call, envelopes: Envelopes): Promise<void> {
  const first = await envelopes.next();
  const { signal } = call;
  const onError = (thrown: unknown): SseEvent | undefined => {
    if (signal.reason === CLOSING || signal.reason === CLIENT_GONE) return undefined;
    return { data: toError(exchange, thrown).body };
  };
  const events = numbered(call, first, envelopes);
  await pumpEvents(exchange.reply, events, { clock: exchange.deps.clock, signal, onError });
}

async function* numbered(
  call: Call,
  first: IteratorResult<unknown, void>,
  envelopes: Envelopes,
): AsyncGenerator<SseEvent, void, undefined> {
  try {
    for (let next = first; !next.done; next = await envelopes.next()) {
      if (!isJsonObject(next.value)) throw new TypeError('the transport yielded no envelope');
      yield { ...(call.eventId === undefined ? {} : { id: String(call.eventId) }), data: next.value };
      // Until the next event, it would be kept here and in the SDK.
      next.value.result = null;
    }
  } finally {
    await envelopes.return();
  }
}

/**
 * Writes events until they end or the client disconnects, and then ends the reply. Holds one event at a time, so a slow
 * client slows only its own reading of the log; a client that reads nothing for a minute is disconnected (send() of
 * @fastify/sse never returns for a client that has left). Never rejects because of the client. `onError` converts an
 * error of the source to the last event.
 */
async function pumpEvents(
  reply: FastifyReply,
  events: AsyncIterable<SseEvent>,
  options: { clock: Clock; signal: AbortSignal; onError: (thrown: unknown) => SseEvent | undefined },
): Promise<void> {
  const { raw } = reply;
  using ending = new DisposableStack();
  const limitEnd = (): void => {
    ending.use(options.clock.timer(() => raw.destroy(), END_MS));
  };
  if (options.signal.aborted) limitEnd();
  options.signal.addEventListener('abort', limitEnd, { once: true });
  ending.defer(() => options.signal.removeEventListener('abort', limitEnd));

  // Ends the wait for the event in progress. A promise of the end would keep a reaction for each event of the stream.
  let onClosed = (): void => undefined;
  raw.once('close', () => onClosed());
  const send = async (event: SseEvent): Promise<void> => {
    using _ = options.clock.timer(() => raw.destroy(), STALL_MS);
    await new Promise<void>((resolve, reject) => {
      onClosed = resolve;
      if (raw.closed) resolve();
      reply.sse.send(event).then(resolve, reject);
    });
  };
  try {
    for await (const event of events) {
      if (!reply.sse.isConnected) break;
      await send(event);
    }
  } catch (thrown) {
    const last = reply.sse.isConnected ? options.onError(thrown) : undefined;
    if (last !== undefined) await send(last);
  }
  if (raw.destroyed || raw.writableFinished) return;
  limitEnd();
  const ended = new Promise<void>((resolve) => raw.once('finish', resolve).once('close', resolve));
  reply.sse.close();
  await ended;
}
