import { createHash } from 'node:crypto';
import type { AgentCard } from '@a2a-js/sdk';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { FastifyInstance } from 'fastify';
import { requestedVersion } from '../wire/requested-version.ts';
import { cardJson } from './card-forms.ts';

export type CardSource = (request: { readonly host: string; readonly protocol: string }) => AgentCard;

const CARD_PATH = '/.well-known/agent-card.json';
const MAX_AGE_S = 60;

/**
 * Serves GET /.well-known/agent-card.json without authentication, revalidated by ETag. The card's url follows Host, its form
 * follows `A2A-Version`. `Last-Modified` is the time of this call: a card changes with the configuration, at a start.
 */
export function registerCardRoute(scope: FastifyInstance, card: CardSource, clock: Clock): void {
  const modified = new Date(clock.now()).toUTCString();
  scope.get(CARD_PATH, { config: { public: true } }, async (request, reply) => {
    const source = card({ host: request.host, protocol: request.protocol });
    const body = JSON.stringify(cardJson(source, requestedVersion(request)));
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    reply.header('etag', etag).header('last-modified', modified).header('vary', 'host, a2a-version');
    reply.header('cache-control', `public, max-age=${MAX_AGE_S}`);
    if (matches(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(body);
  });
}

function matches(header: string | undefined, etag: string): boolean {
  const tags = header?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
  return tags.includes(etag) || tags.includes('*');
}
