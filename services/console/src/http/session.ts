import type { Read } from '@hermes-fleet/net/api';
import { FleetError } from '@hermes-fleet/protocol';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { endedCookie, sessionOf } from '../session/guard.ts';
import type { HeldToken, Session } from '../session/sessions.ts';
import type { ApiOptions } from './options.ts';
import { readInput } from './query.ts';

const CALLER_EXTENSION = 'urn:hermes-fleet:caller:1';

const CallerParams = z.object({ caller: z.string(), scopes: z.array(z.string()) });
const Extension = z.object({ uri: z.string(), params: z.unknown().optional() });
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

/**
 * `GET /api/session` and `DELETE /api/session`, which signs out. `POST /api/token` keeps a person's token in the session's
 * memory, and `DELETE /api/token` forgets it.
 */
export function registerSession(scope: FastifyInstance, options: ApiOptions): void {
  scope.get('/api/session', (request) => sessionDocument(sessionOf(request), options));
  scope.delete('/api/session', async (request, reply) => {
    await options.sessions.end(sessionOf(request));
    return await reply.header('set-cookie', endedCookie).code(204).send();
  });
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

const sessionDocument = ({ csrfToken, held }: Session, { version, addresses, links }: ApiOptions) => ({
  /** Send it as `X-CSRF-Token` with every POST and DELETE. */
  csrf_token: csrfToken,
  /** The caller of the token that the session holds in memory, as the entry profile names it; null without a token. */
  caller: held?.caller ?? null,
  scopes: held?.scopes ?? [],
  /** The profiles that the console reaches, the orchestrator first. */
  profiles: [...addresses.keys()],
  version,
  ...links,
});

/** `GET /api/session`. */
export type SessionDocument = ReturnType<typeof sessionDocument>;

/** Asks the entry profile whose token this is (docs/a2a.md#the-extended-card). Throws UNAUTHENTICATED for a wrong one. */
async function judged(token: string, { client, entry }: ApiOptions): Promise<HeldToken> {
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
