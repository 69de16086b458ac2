import { createHash } from 'node:crypto';
import { AgentCard } from '@a2a-js/sdk';
import type { FastifyInstance } from 'fastify';

export type CardSource = (request: { readonly host: string; readonly protocol: string }) => AgentCard;

const CARD_PATH = '/.well-known/agent-card.json';
const MAX_AGE_S = 60;

/** Serves GET /.well-known/agent-card.json without authentication, revalidated by ETag; the card's url follows Host. */
export function registerCardRoute(scope: FastifyInstance, card: CardSource): void {
  scope.get(CARD_PATH, { config: { public: true } }, async (request, reply) => {
    // JSON.stringify alone would write security schemes in the SDK's internal form, which A2A clients cannot read.
    const body = JSON.stringify(AgentCard.toJSON(card({ host: request.host, protocol: request.protocol })));
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    reply.header('etag', etag).header('cache-control', `public, max-age=${MAX_AGE_S}`).header('vary', 'host');
    if (matches(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(body);
  });
}

function matches(header: string | undefined, etag: string): boolean {
  const tags = header?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
  return tags.includes(etag) || tags.includes('*');
}
