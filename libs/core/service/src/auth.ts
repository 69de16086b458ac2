import { hash, timingSafeEqual } from 'node:crypto';
import { FleetError } from '@hermes-fleet/protocol';
import type { Caller, Scope } from '@hermes-fleet/protocol/ports';

/** Identifies the caller by the Authorization header; throws UNAUTHENTICATED. */
export type Authenticator = (authorization: string | undefined) => Caller;

interface CallerSecret {
  readonly name: string;
  readonly scopes: readonly string[];
  /** The token, or `sha256:<64 hex digits>` of it. */
  readonly secret: string;
}

/**
 * Identifies callers that come and go while the process runs, by the hash of their token, 64 hex digits. Throws
 * UNAUTHENTICATED with the reason why a token is not accepted any more.
 */
type FindCaller = (digest: string) => Caller | undefined;

/** The scopes of a shared token, and of every caller if no token is required (docs/configuration.md). */
export const PEER_SCOPES: readonly Scope[] = ['announce', 'dispatch', 'read'];

/** The 64 hex digits of a SHA-256, as bytes. Node computes digits in a third of the time that it needs for a Buffer. */
const sha256 = (text: string): Buffer => Buffer.from(hash('sha256', text), 'latin1');

const HASHED = /^sha256:([0-9a-f]{64})$/i;

function digestOf(secret: string): Buffer {
  const hex = HASHED.exec(secret)?.[1];
  return hex === undefined ? sha256(secret) : Buffer.from(hex.toLowerCase(), 'latin1');
}

/**
 * Bearer authentication. Keeps only hashes of the tokens, and compares every entry in constant time even after a match.
 * A token of none of the `callers` may be one of `others`, whose hash nobody can choose. Whoever reads the secrets has checked
 * that each is one, and that no two callers share one.
 */
export function createAuthenticator(
  callers: readonly CallerSecret[],
  others: FindCaller = () => undefined,
): Authenticator {
  const entries = callers.map((entry) => ({
    digest: digestOf(entry.secret),
    caller: { name: entry.name, scopes: new Set<Scope>(entry.scopes) } satisfies Caller,
  }));
  return (authorization) => {
    if (authorization === undefined) {
      throw new FleetError('UNAUTHENTICATED', 'a token is required; send "Authorization: Bearer <token>"');
    }
    const token = /^Bearer +([^\s]+) *$/i.exec(authorization)?.[1];
    if (token === undefined) {
      throw new FleetError('UNAUTHENTICATED', 'the Authorization header is not "Bearer <token>"');
    }
    const given = sha256(token);
    let match: Caller | undefined;
    for (const { digest, caller } of entries) {
      if (timingSafeEqual(digest, given)) match = caller;
    }
    match ??= others(given.toString('latin1'));
    if (match === undefined) {
      throw new FleetError(
        'UNAUTHENTICATED',
        'this token is not accepted here; check which service it is for',
      );
    }
    return match;
  };
}

/** Throws FORBIDDEN, with the name of the scope, unless the caller has it. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (caller.scopes.has(scope)) return;
  throw new FleetError('FORBIDDEN', `caller "${caller.name}" lacks the scope "${scope}"`);
}
