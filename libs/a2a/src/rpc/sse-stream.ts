import { type Clock, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { FastifyReply } from 'fastify';
import { CLIENT_GONE, CLOSING } from '../server/open-calls.ts';
import type { Call } from '../server/request-handler.ts';
import { type Exchange, toError } from './exchange.ts';

interface SseEvent {
  readonly id?: string;
  readonly data: JsonObject;
}

/** How long a client may leave a full buffer unread, and how long the last bytes of a stream may take. */
const STALL_MS = 60_000;
const END_MS = 2_000;

/** The stream of JSON-RPC replies that a transport gives for a streaming method. */
export type Envelopes = AsyncGenerator<unknown, void, undefined>;

export function isStream(result: unknown): result is Envelopes {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result;
}

/** Sends a transport's stream as SSE. Throws, and has sent nothing, when it fails before its first event. */
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
    }
  } finally {
    await envelopes.return();
  }
}

/**
 * Writes events to a client until they end or the client leaves, and then ends the reply. Holds one event at a time:
 * a slow client slows its own reading of the log and nothing else; one that takes nothing for a minute is cut off
 * (design 7, @fastify/sse: its send() waits for ever on a client that left). Never rejects for what the client does;
 * what the source throws is for `onError`, whose event is the last one.
 */
async function pumpEvents(
  reply: FastifyReply,
  events: AsyncIterable<SseEvent>,
  o: { clock: Clock; signal: AbortSignal; onError: (thrown: unknown) => SseEvent | undefined },
): Promise<void> {
  const { raw } = reply;
  using ending = new DisposableStack();
  const hurry = (): void => {
    ending.use(o.clock.timer(() => raw.destroy(), END_MS));
  };
  o.signal.addEventListener('abort', hurry, { once: true });
  ending.defer(() => o.signal.removeEventListener('abort', hurry));

  const closed = new Promise<void>((resolve) => raw.once('close', resolve));
  const send = async (event: SseEvent): Promise<void> => {
    using _ = o.clock.timer(() => raw.destroy(), STALL_MS);
    await Promise.race([reply.sse.send(event), closed]);
  };
  try {
    for await (const event of events) {
      if (!reply.sse.isConnected) break;
      await send(event);
    }
  } catch (thrown) {
    const last = reply.sse.isConnected ? o.onError(thrown) : undefined;
    if (last !== undefined) await send(last);
  }
  if (raw.destroyed || raw.writableFinished) return;
  hurry();
  const finished = new Promise<void>((resolve) => raw.once('finish', resolve));
  reply.sse.close();
  await Promise.race([closed, finished]);
}
