import type { FastifyInstance } from 'fastify';
import type { ApiOptions } from './options.ts';

/** Serves exactly these files, to anybody: a page without a session has nothing to show. */
export function registerStatic(app: FastifyInstance, { files, policy }: ApiOptions['web']): void {
  for (const { path, type, body, etag, immutable } of files) {
    const cache = immutable ? 'public, max-age=31536000, immutable' : 'no-cache';
    app.get(path, { config: { public: true } }, (request, reply) => {
      reply.header('etag', etag).header('cache-control', cache).header('content-security-policy', policy);
      if (namesTag(request.headers['if-none-match'], etag)) return reply.code(304).send();
      return reply.type(type).send(body);
    });
  }
}

/** True if `If-None-Match` has the tag (RFC 9110, section 13.1.2). */
const namesTag = (header: string | undefined, etag: string): boolean =>
  (header ?? '').split(',').some((each) => each.trim().replace(/^W\//, '') === etag);
