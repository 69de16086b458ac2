import { hash, timingSafeEqual } from 'node:crypto';
import { FleetError } from '@hermes-fleet/protocol';
import type { Caller, Scope } from '@hermes-fleet/protocol/ports';

/** Identifies the caller by the Authorization header; throws UNAUTHENTICATED. */
export type Authenticator = (authorization: string | undefined) => Caller;

export interface CallerSecret {
  readonly name: string;
  readonly scopes: readonly string[];
  /** The token, or `sha256:<64 hex digits>` of it. */
  readonly secret: string;
}

/**
 * Identifies callers that come and go while the process runs, by the hash of their token, 64 hex digits. Throws
 * UNAUTHENTICATED with the reason why a token is not accepted any more.
 */
export type FindCaller = (digest: string) => Caller | undefined;

/** The scopes of a shared token, and of every caller if no token is required (docs/configuration.md). */
export const PEER_SCOPES: readonly Scope[] = ['announce', 'dispatch', 'read'];

/** The 64 hex digits of a SHA-256, as bytes. Node computes digits in a third of the time that it needs for a Buffer. */
const sha256 = (text: string): Buffer => Buffer.from(hash('sha256', text), 'latin1');

function digestOf({ name, secret }: CallerSecret): Buffer {
  const hex = /^sha256:(.*)$/s.exec(secret)?.[1];
  if (hex === undefined && secret !== '') return sha256(secret);
  if (hex !== undefined && /^[0-9a-f]{64}$/i.test(hex)) return Buffer.from(hex.toLowerCase(), 'latin1');
  const problem = hex === undefined ? 'is empty' : 'is not "sha256:" and 64 hex digits';
  throw new FleetError(
    'CONFIG_INVALID',
    `the secret of caller "${name}" ${problem}; give its token or the hash of it`,
  );
}

/**
 * Bearer authentication. Keeps only hashes of the tokens, and compares every entry in constant time even after a match.
 * A token of none of the `callers` may be one of `others`, whose hash nobody can choose.
 * Throws CONFIG_INVALID for an empty or malformed secret, and for a token that two callers share, because it does not
 * identify the caller.
 */
export function createAuthenticator(
  callers: readonly CallerSecret[],
  others: FindCaller = () => undefined,
): Authenticator {
  const entries = callers.map((entry) => ({
    digest: digestOf(entry),
    caller: { name: entry.name, scopes: new Set<Scope>(entry.scopes) } satisfies Caller,
  }));
  const owners = new Map<string, string>();
  for (const { digest, caller } of entries) {
    const owner = owners.get(digest.toString());
    if (owner !== undefined) {
      throw new FleetError(
        'CONFIG_INVALID',
        `callers "${owner}" and "${caller.name}" have the same token; give each its own`,
      );
    }
    owners.set(digest.toString(), caller.name);
  }

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
