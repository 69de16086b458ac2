import { DOWNLOAD_HEADERS } from '@hermes-fleet/a2a';
import type { FastifyReply } from 'fastify';
import type { ContentStream } from '../results/content-at-peer.ts';

/**
 * Sends a content that may be long, once it is the turn of its request. `signal` is undefined where the client has left before, and
 * aborts when it leaves: then nothing more is answered. Throws what `open` throws.
 */
export async function sendContent(
  reply: FastifyReply,
  type: string,
  signal: AbortSignal | undefined,
  open: (signal: AbortSignal) => Promise<ContentStream>,
): Promise<FastifyReply> {
  if (signal === undefined) return reply;
  try {
    const { content, bytes } = await open(signal);
    reply.headers({ 'content-type': type, ...DOWNLOAD_HEADERS });
    if (bytes !== undefined) reply.header('content-length', bytes);
    // An error before the first byte is answered instead, as JSON.
    content.once('error', () => {
      if (!reply.raw.headersSent) reply.raw.removeHeader('content-type');
    });
    return reply.send(content);
  } catch (error) {
    if (!signal.aborted) throw error;
    return reply.hijack();
  }
}
