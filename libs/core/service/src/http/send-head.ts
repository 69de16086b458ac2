import type { FastifyReply } from 'fastify';

/**
 * Takes a reply over from Fastify, and sends its head: the status, the headers that were set on the reply, and these. The
 * caller writes the body to `reply.raw` and ends it.
 */
export function sendHead(
  reply: FastifyReply,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): void {
  reply.hijack();
  for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...headers })) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  reply.raw.writeHead(status);
}
