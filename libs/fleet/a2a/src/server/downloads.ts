import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CLIENT_GONE } from './open-calls.ts';
import { createTurns } from './turns.ts';

/** The most contents that a caller is sent at a time. */
export const MAX_AT_A_TIME = 4;
/** The longest wait for a turn; an orchestrator that waits for the answer knows no other sign of life. */
const TURN_MS = 30_000;

/** Make a browser save a content: what an agent wrote must not run with the origin of the profile. */
export const DOWNLOAD_HEADERS = {
  'content-disposition': 'attachment',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'cache-control': 'private, no-store',
};

export interface DownloadsOptions {
  readonly clock: Clock;
  /** The longest time for one content. */
  readonly maxMs: number;
  /** How many a caller is sent at a time; default: four. */
  readonly limitOf?: (caller: string) => number;
}

/**
 * Sends contents that may be long: a caller is sent so many at a time, and its further requests wait for those that it has open.
 * The function resolves when it is the turn of a request, with a signal that aborts when its reply has ended; the connection is
 * closed when that takes longer than `maxMs`. Undefined if the client has left before: nothing is to be sent. Throws
 * TOO_MANY_STREAMS when the turn does not come within 30 s.
 */
export function createDownloads({ clock, maxMs, limitOf }: DownloadsOptions) {
  const turns = createTurns(limitOf ?? MAX_AT_A_TIME);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<AbortSignal | undefined> => {
    const ended = new AbortController();
    const { signal } = ended;
    reply.raw.once('close', () => ended.abort(CLIENT_GONE));
    using closing = new DisposableStack();
    try {
      const { name } = request.caller;
      const late = new AbortController();
      using _patience = clock.timer(() => late.abort(tooMany(name)), TURN_MS);
      closing.use(await turns.takeTurn(name, AbortSignal.any([signal, late.signal])));
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

const tooMany = (caller: string): FleetError =>
  new FleetError(
    'TOO_MANY_STREAMS',
    `caller "${caller}" has not read the downloads that it has open: ask again when it has read or closed one`,
    { retryAfterS: 5 },
  );
