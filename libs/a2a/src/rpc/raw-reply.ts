import type { FastifyReply } from 'fastify';

/**
 * Takes a reply over from Fastify, and sends its head: status 200, the headers that were set on the reply, and these. The
 * caller writes the body to `reply.raw` and ends it.
 */
export function sendHead(reply: FastifyReply, headers: Readonly<Record<string, string>>): void {
  reply.hijack();
  for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...headers })) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  reply.raw.writeHead(200);
}
