import { hash, randomBytes } from 'node:crypto';
import { isPeerName, matchesName } from '@hermes-fleet/fleet-config';
import { type JoinTokenRecord, joinTokenProblem, type LedgerJoins } from '@hermes-fleet/ledger';
import { FleetError, fieldErrors, JOIN_TOKEN_PREFIX } from '@hermes-fleet/protocol';
import type { Answer, JOINING, JoinTokenState } from '@hermes-fleet/protocol/api';
import type { Caller, Clock } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';

/** The lifetime of a join token, seconds. */
const DEFAULT_LIFETIME_S = 15 * 60;
const MAX_LIFETIME_S = 86_400;
/** Join tokens that can be used at the same time. */
const MAX_OPEN = 1_000;
/** How long the reason is known why a token can't be used any more. */
const REMEMBERED_MS = 7 * 86_400_000;

/** The right to redeem the join token that authenticates the caller, and no other right. */
export const REDEEM = 'redeem';

/** The scopes that a join token may give. `trader` scopes and `operate` are not for workers. */
const SCOPES = ['announce', 'join', 'dispatch', 'read'] as const;

/** What the creator of a join token says of the worker. */
export const Terms = z.object({
  tier: z.string().optional(),
  endpoints: z.array(z.string()),
  scopes: z.array(z.string()),
});
export type Terms = z.output<typeof Terms>;

const pattern = z
  .string()
  .max(64)
  .regex(
    /^[a-z*][a-z0-9*-]*$/,
    'must be a name of lower-case letters, digits and "-", in which "*" may stand for any part',
  );

const NewToken = z.strictObject({
  name: pattern.default('*'),
  expires_s: z.int().min(60).max(MAX_LIFETIME_S).default(DEFAULT_LIFETIME_S),
  tier: z.string().max(64).optional(),
  endpoints: z.array(z.string().max(2_048)).max(16).default([]),
  scopes: z.array(z.enum(SCOPES)).min(1).default(['announce', 'join']),
});

export type JoinTokens = ReturnType<typeof createJoinTokens>;

export interface JoinTokensOptions {
  readonly joins: LedgerJoins;
  readonly clock: Clock;
  readonly tiers: readonly string[];
  /** `fleet.join.endpoints`: the addresses of workers whose join token names none. */
  readonly endpoints: readonly string[];
  /** Why no worker may have this name; undefined if one may. */
  readonly nameProblem: (name: string) => string | undefined;
  /** The problem of an invalid pattern of an address. */
  readonly endpointProblem: (pattern: string) => string | undefined;
}

export function createJoinTokens(options: JoinTokensOptions) {
  const { joins, clock } = options;
  const byCaller = new WeakMap<Caller, string>();
  return {
    /** Creates a join token, which is told only here. Throws INVALID_PARAMS and QUEUE_FULL. */
    async create(wire: unknown, by: Caller): Promise<Answer<typeof JOINING.createToken>> {
      const asked = readNewToken(wire ?? {}, options);
      const token = `${JOIN_TOKEN_PREFIX}${randomBytes(32).toString('base64url')}`;
      const createdAt = clock.now();
      const record = {
        id: randomBytes(5).toString('hex'),
        digest: hash('sha256', token),
        name: asked.name,
        terms: { ...asked.terms },
        createdBy: by.name,
        createdAt,
        expiresAt: createdAt + asked.expires_s * 1000,
      };
      await joins.addToken(record, { max: MAX_OPEN, forgetBefore: createdAt - REMEMBERED_MS });
      return { ...tokenView({ ...record, used: undefined, revokedAt: undefined }, createdAt), token };
    },
    list: (): Answer<typeof JoinTokenState>[] => joins.tokens().map((token) => tokenView(token, clock.now())),
    /** Revokes a join token by its id. Throws NOT_FOUND for one that is unknown, used or revoked. */
    async revoke(id: string): Promise<Answer<typeof JOINING.revokeToken>> {
      if (await joins.revokeToken(id, clock.now())) return { id, state: 'revoked' };
      const known = joins.tokens().find((token) => token.id === id);
      const why = known ? joinTokenProblem(known, clock.now()) : undefined;
      const hint = known?.used ? `; to remove its worker, revoke ${known.used.by}` : '';
      throw new FleetError('NOT_FOUND', why ? `${why}${hint}` : `there is no join token ${id}`);
    },
    /**
     * The caller that presents a join token with this hash. It may redeem that token and do nothing else. Throws
     * UNAUTHENTICATED for a token that was revoked, or that has expired.
     */
    callerOf(digest: string): Caller | undefined {
      const token = joins.findToken(digest);
      if (!token) return undefined;
      // A used one is told so by what it asks for: the same request again is answered as before.
      const problem = joinTokenProblem({ ...token, used: undefined }, clock.now());
      if (problem !== undefined) throw new FleetError('UNAUTHENTICATED', problem);
      // No caller of a configuration can have a name with a space.
      const caller: Caller = { name: `join token ${token.id}`, scopes: new Set([REDEEM]) };
      byCaller.set(caller, digest);
      return caller;
    },
    /** The join token of a caller. Throws FORBIDDEN for any other caller. */
    of(caller: Caller): JoinTokenRecord {
      const token = joins.findToken(byCaller.get(caller) ?? '');
      if (!token)
        throw new FleetError('FORBIDDEN', 'only a join token joins: fleet join-token create makes one');
      return token;
    },
  };
}

export const termsOf = (token: JoinTokenRecord): Terms => Terms.parse(token.terms);

function readNewToken(
  wire: unknown,
  { tiers, endpoints, nameProblem, endpointProblem }: JoinTokensOptions,
): { name: string; expires_s: number; terms: Terms } {
  const read = NewToken.safeParse(wire);
  const fields = read.success ? [] : fieldErrors(read.error);
  if (read.success) {
    const { name, tier, endpoints: named } = read.data;
    const taken = name.includes('*') ? undefined : nameProblem(name);
    if (taken !== undefined) fields.push({ path: 'name', reason: taken });
    if (tier !== undefined && !tiers.includes(tier))
      fields.push({ path: 'tier', reason: `is not a tier: tiers are ${tiers.join(', ')}` });
    for (const [at, each] of named.entries()) {
      const problem = endpointProblem(each);
      if (problem !== undefined) fields.push({ path: `endpoints[${at}]`, reason: problem });
    }
    if (named.length === 0 && endpoints.length === 0)
      fields.push({
        path: 'endpoints',
        reason: 'is needed, because fleet.join.endpoints names no address: say where the worker will be',
      });
    if (fields.length === 0) {
      const terms = {
        endpoints: named.length > 0 ? named : [...endpoints],
        scopes: withAnnounce(read.data.scopes),
      };
      return {
        name,
        expires_s: read.data.expires_s,
        terms: tier === undefined ? terms : { ...terms, tier },
      };
    }
  }
  const list = fields.map(({ path, reason }) => `${path || 'the body'} ${reason}`).join('; ');
  throw new FleetError('INVALID_PARAMS', `no join token: ${list}`, { fields });
}

/** A worker announces itself, and is routed to, whatever else it may do. */
const withAnnounce = (scopes: readonly string[]): string[] => [...new Set(['announce', 'join', ...scopes])];

/** The name of a worker must match its join token's, and be one that a gateway can have. */
export const mayTakeName = (token: JoinTokenRecord, name: string): boolean =>
  /^[a-z][a-z0-9-]{0,62}$/.test(name) && isPeerName(name) && matchesName(token.name, name);

/** A join token without its hash. */
function tokenView(token: JoinTokenRecord, now: number): Answer<typeof JoinTokenState> {
  const { id, name, createdBy, createdAt, expiresAt, used, revokedAt } = token;
  const { tier, endpoints, scopes } = termsOf(token);
  const state = revokedAt !== undefined ? 'revoked' : used ? 'used' : now >= expiresAt ? 'expired' : 'open';
  return {
    id,
    name,
    state,
    tier: tier ?? null,
    endpoints,
    scopes,
    created_by: createdBy,
    created_at: new Date(createdAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
    used_by: used?.by ?? null,
  };
}
