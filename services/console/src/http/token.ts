import type { ApiClient, Read } from '@hermes-fleet/net/api';
import { FleetError } from '@hermes-fleet/protocol';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { ProfileAddress } from '../profiles/client.ts';
import { sessionOf } from '../session/guard.ts';
import type { HeldToken, Session } from '../session/sessions.ts';
import { readInput } from './query.ts';
import { type SessionOptions, sessionDocument } from './session.ts';

const CALLER_EXTENSION = 'urn:hermes-fleet:caller:1';

const CallerParams = z.object({ caller: z.string(), scopes: z.array(z.string()) });
const Extension = z.object({ uri: z.string(), params: z.unknown() });
const CARD = {
  method: 'GetExtendedAgentCard',
  answer: z.object({ capabilities: z.object({ extensions: z.array(Extension).optional() }).optional() }),
};

const TokenBody = z.strictObject({
  token: z
    .string()
    .min(1, 'must not be empty')
    .max(4_096)
    .regex(/^[\x21-\x7e]+$/, 'must have no spaces'),
});

export interface TokenOptions extends SessionOptions {
  readonly client: ApiClient;
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
  let card: Read<typeof CARD>;
  try {
    card = await client.rpc({ ...entry, token }, CARD, {});
  } catch (thrown) {
    if (!(thrown instanceof FleetError)) throw thrown;
    if (thrown.code === 'TOKEN_NEEDED')
      throw new FleetError('UNAUTHENTICATED', `${entry.name} does not accept this token`);
    // A profile that asks for no token has no extended card, and takes everybody as one caller.
    if (thrown.code === 'UNSUPPORTED_OPERATION') return { token, caller: 'peer', scopes: [] };
    throw thrown;
  }
  const own = card.capabilities?.extensions?.find(({ uri }) => uri === CALLER_EXTENSION);
  const { caller = 'unknown', scopes = [] } = CallerParams.safeParse(own?.params).data ?? {};
  return { token, caller: caller.slice(0, 256), scopes: scopes.slice(0, 50) };
}
