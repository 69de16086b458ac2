import { FleetError } from '@hermes-fleet/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isSame } from './secrets.ts';
import type { Session, Sessions } from './sessions.ts';

export const COOKIE = 'fleet_console';
const CSRF_HEADER = 'x-csrf-token';
const MAX_COOKIES = 8_192;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route is for programs with a secret of the console: it takes no session. */
    withSecret?: boolean;
  }
  interface FastifyRequest {
    /** The session of the request; every route below /api has one, except those with `withSecret`. */
    session: Session | undefined;
  }
}

/**
 * Lets only signed-in browsers reach the routes of a scope. A request that changes something must also name the session's
 * CSRF token and come from a page of the console itself: the exact origin, because pages of other services on the same host
 * share its cookies (docs/console.md#security).
 */
export function guardSessions(scope: FastifyInstance, sessions: Sessions): void {
  scope.decorateRequest('session', undefined);
  scope.addHook('onRequest', (request, _reply, done) => {
    if (request.routeOptions.config.withSecret !== true) {
      const session = sessions.findSession(cookieOf(request.headers.cookie) ?? '');
      if (session === undefined)
        throw new FleetError('UNAUTHENTICATED', 'sign in first: run `fleet console` for a link');
      refuseForeignPages(request);
      if (request.method !== 'GET' && request.method !== 'HEAD') refuseForgery(request, session);
      request.session = session;
    }
    done();
  });
}

/** The session of a request below /api. */
export function sessionOf({ session }: FastifyRequest): Session {
  if (session === undefined) throw new FleetError('UNAUTHENTICATED', 'sign in first');
  return session;
}

/** The token of a request's session; throws TOKEN_NEEDED without one. */
export function tokenOf(request: FastifyRequest): string {
  const { held } = sessionOf(request);
  if (held) return held.token;
  throw new FleetError('TOKEN_NEEDED', 'this needs your token: enter it first');
}

/** The value of the console's cookie. With several of them, none: a page of a sibling host may have set the others. */
function cookieOf(header: string | undefined): string | undefined {
  if (header === undefined || header.length > MAX_COOKIES) return undefined;
  const found = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${COOKIE}=`));
  return found.length === 1 ? found[0]?.slice(COOKIE.length + 1) : undefined;
}

/** Refuses what a page of another origin asks for, where the browser says so (Fetch Metadata). */
function refuseForeignPages({ headers }: FastifyRequest): void {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return;
  throw new FleetError('FORBIDDEN', 'only pages of the console itself may ask for this');
}

function refuseForgery({ headers }: FastifyRequest, session: Session): void {
  const { host = '', origin } = headers;
  if (origin !== `http://${host}` && origin !== `https://${host}`)
    throw new FleetError('FORBIDDEN', 'the Origin header is not that of the console itself');
  const token = headers[CSRF_HEADER];
  if (typeof token !== 'string' || !isSame(token, session.csrfToken))
    throw new FleetError(
      'FORBIDDEN',
      'the X-CSRF-Token header is missing or wrong: read it from /api/session',
    );
}

/** The cookie of a new session, and the one that ends it. */
export const sessionCookie = (value: string): string =>
  `${COOKIE}=${value}; HttpOnly; SameSite=Strict; Path=/`;
export const endedCookie = `${COOKIE}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0`;
