import { isJsonObject } from '@hermes-fleet/protocol';
import { CLOSING, GONE } from '../server/open-calls.ts';
import type { Call } from '../server/request-handler.ts';
import { type Exchange, toError } from './exchange.ts';
import { pumpEvents, type SseEvent } from './sse-pump.ts';

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
    if (signal.reason === CLOSING || signal.reason === GONE) return undefined;
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
