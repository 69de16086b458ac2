import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { ProfileAddress, ProfileClient } from '../profiles/client.ts';
import { sessionOf } from '../session/guard.ts';
import type { HeldToken, Session } from '../session/sessions.ts';
import { readInput } from './query.ts';
import { type SessionOptions, sessionDocument } from './session.ts';

const CALLER_EXTENSION = 'urn:hermes-fleet:caller:1';

const TokenBody = z.strictObject({
  token: z
    .string()
    .min(1, 'must not be empty')
    .max(4_096)
    .regex(/^[\x21-\x7e]+$/, 'must have no spaces'),
});

export interface TokenOptions extends SessionOptions {
  readonly client: ProfileClient;
  readonly entry: ProfileAddress;
}

/** `POST /api/token` keeps a person's token in the session's memory, and `DELETE /api/token` forgets it. */
export function registerToken(scope: FastifyInstance, options: TokenOptions): void {
  scope.post('/api/token', async (request) => {
    const session = sessionOf(request);
    const { token } = readInput(TokenBody, request.body);
    session.held = await judged(token, options);
    return sessionDocument(session, options);
  });
  scope.delete('/api/token', (request) => {
    const session = sessionOf(request);
    session.held = undefined;
    return sessionDocument(session, options);
  });
}

/** The token of a session; throws TOKEN_NEEDED without one. */
export function tokenOf({ held }: Session): string {
  if (held) return held.token;
  throw new FleetError('TOKEN_NEEDED', 'this needs your token: enter it first');
}

/** Asks the entry profile whose token this is (docs/a2a.md#the-extended-card). Throws UNAUTHENTICATED for a wrong one. */
async function judged(token: string, { client, entry }: TokenOptions): Promise<HeldToken> {
  let card: JsonObject;
  try {
    card = await client.rpc(entry, token, 'GetExtendedAgentCard', {});
  } catch (thrown) {
    if (!(thrown instanceof FleetError)) throw thrown;
    if (thrown.code === 'TOKEN_NEEDED')
      throw new FleetError('UNAUTHENTICATED', `${entry.name} does not accept this token`);
    // A profile that asks for no token has no extended card, and takes everybody as one caller.
    if (thrown.code === 'UNSUPPORTED_OPERATION') return { token, caller: 'peer', scopes: [] };
    throw thrown;
  }
  const capabilities = isJsonObject(card.capabilities) ? card.capabilities : {};
  const extensions = Array.isArray(capabilities.extensions) ? capabilities.extensions : [];
  const own = extensions.find((each) => isJsonObject(each) && each.uri === CALLER_EXTENSION);
  const params = isJsonObject(own) && isJsonObject(own.params) ? own.params : {};
  const scopes = Array.isArray(params.scopes) ? params.scopes : [];
  return {
    token,
    caller: typeof params.caller === 'string' ? params.caller.slice(0, 256) : 'unknown',
    scopes: scopes.filter((each) => typeof each === 'string').slice(0, 50),
  };
}
