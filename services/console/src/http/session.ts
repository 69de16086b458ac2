import type { FastifyInstance } from 'fastify';
import { endedCookie, sessionOf } from '../session/guard.ts';
import type { Session, Sessions } from '../session/sessions.ts';
import type { SessionDocument } from './api.ts';

export interface SessionOptions {
  readonly sessions: Sessions;
  readonly version: string;
  /** The names of the profiles, the entry first. */
  readonly profiles: readonly string[];
  readonly links: { readonly grafana_url: string | null; readonly trace_url: string | null };
}

/** `GET /api/session` and `DELETE /api/session`, which signs out. */
export function registerSession(scope: FastifyInstance, options: SessionOptions): void {
  scope.get('/api/session', (request) => sessionDocument(sessionOf(request), options));
  scope.delete('/api/session', async (request, reply) => {
    await options.sessions.end(sessionOf(request));
    return await reply.header('set-cookie', endedCookie).code(204).send();
  });
}

export function sessionDocument(
  { csrfToken, held }: Session,
  { version, profiles, links }: Pick<SessionOptions, 'version' | 'profiles' | 'links'>,
): SessionDocument {
  return {
    csrf_token: csrfToken,
    caller: held?.caller ?? null,
    scopes: held?.scopes ?? [],
    profiles,
    version,
    ...links,
  };
}
