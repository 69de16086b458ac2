import type { Clock, JsonObject } from '@hermes-fleet/protocol';
import type { FastifyReply } from 'fastify';

export interface SseEvent {
  readonly id?: string;
  readonly data: JsonObject;
}

/** How long a client may leave a full buffer unread, and how long the last bytes of a stream may take. */
const STALL_MS = 60_000;
const END_MS = 2_000;

/**
 * Writes events to a client until they end or the client leaves, and then ends the reply. Holds one event at a time:
 * a slow client slows its own reading of the log and nothing else; one that takes nothing for a minute is cut off
 * (design 7, @fastify/sse: its send() waits for ever on a client that left). Never rejects for what the client does;
 * what the source throws is for `onError`, whose event is the last one.
 */
export async function pumpEvents(
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
