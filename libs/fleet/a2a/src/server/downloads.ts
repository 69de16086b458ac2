import type { Clock } from '@hermes-fleet/protocol/ports';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CLIENT_GONE } from './open-calls.ts';
import { createTurns } from './turns.ts';

/** The most contents that a caller is sent at a time. */
const MAX_AT_A_TIME = 4;

/** Make a browser save a content: what an agent wrote must not run with the origin of the profile. */
export const DOWNLOAD_HEADERS = {
  'content-disposition': 'attachment',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'cache-control': 'private, no-store',
};

/**
 * Sends contents that may be long: a caller is sent four at a time, and its further requests wait for those that it has open.
 * The function resolves when it is the turn of a request, with a signal that aborts when its reply has ended; the connection is
 * closed when that takes longer than `maxMs`. Undefined if the client has left before: nothing is to be sent.
 */
export function createDownloads({ clock, maxMs }: { readonly clock: Clock; readonly maxMs: number }) {
  const turns = createTurns(MAX_AT_A_TIME);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<AbortSignal | undefined> => {
    const ended = new AbortController();
    const { signal } = ended;
    reply.raw.once('close', () => ended.abort(CLIENT_GONE));
    using closing = new DisposableStack();
    try {
      closing.use(await turns.takeTurn(request.caller.name, signal));
    } catch (thrown) {
      if (thrown !== CLIENT_GONE) throw thrown;
    }
    if (signal.aborted) {
      reply.hijack();
      return undefined;
    }
    closing.use(clock.timer(() => request.raw.destroy(), maxMs));
    const sending = closing.move();
    signal.addEventListener('abort', () => sending.dispose(), { once: true });
    return signal;
  };
}
