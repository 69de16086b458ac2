import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/** The path at which an orchestrator offers to join, and accepts workers (docs/peering.md#joining). */
export const JOIN_PATH = '/fleet/join';
/** The path at which a worker asks for its own membership. */
export const MEMBERSHIP_PATH = '/fleet/membership';
/** The path, below the worker's address, at which a joining worker proves that it listens there. */
export const CHALLENGE_PATH = '/fleet/join-challenge';

/** The beginning of every join token, by which scanners of secrets find one. */
export const JOIN_TOKEN_PREFIX = 'hfj_';

/** What a join token offers: who the orchestrator is, and what the worker may be. Unknown fields are ignored. */
export const JoinOffer = z.object({
  orchestrator: z.string(),
  /** The name that the worker may take; `*` stands for any part of it. */
  name: z.string(),
  tier: z.string().nullable(),
  tiers: z.array(z.string()),
  protocol_versions: z.array(z.string()),
  /** Patterns of the addresses with which the worker may join. */
  endpoints: z.array(z.string()),
  scopes: z.array(z.string()),
  expires_at: z.string(),
});
export type JoinOffer = z.output<typeof JoinOffer>;

const secret = z
  .string()
  .min(32)
  .max(256)
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without white space')
  .refine((text) => !text.startsWith('sha256:'), 'must be the token itself');

/** The request of a worker to join. */
export const JoinRequest = z.strictObject({
  name: z.string().max(64),
  endpoint: z.string().max(2_048),
  /** `sha256:` and the hash of the token that the worker will present. */
  token_digest: z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be "sha256:" and 64 hex digits'),
  /** The token that the orchestrator shall present to the worker. */
  token: secret,
});
export type JoinRequest = z.output<typeof JoinRequest>;

/** The question of an orchestrator at the address of a joining worker. */
export const JoinChallenge = z.strictObject({ orchestrator: z.string().max(64), nonce: z.string().max(128) });
export type JoinChallenge = z.output<typeof JoinChallenge>;

/** The answer to it. */
export const JoinProof = z.object({ proof: z.string().max(128) });

/**
 * Proves that whoever listens has the token that the orchestrator will present, and is asked by this orchestrator, without
 * telling the token.
 */
export function joinProof(token: string, { orchestrator, nonce }: JoinChallenge): string {
  return createHmac('sha256', token)
    .update(JSON.stringify(['hermes-fleet-join', orchestrator, nonce]))
    .digest('hex');
}

/** Compares two proofs in constant time. */
export function isSameProof(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** The membership of a worker, as the orchestrator sees it. */
export const Membership = z.object({
  name: z.string(),
  orchestrator: z.string(),
  /** `left` is the last answer: the worker is no member any more. */
  state: z.enum(['joined', 'leaving', 'left']),
  /** As in `GET /fleet/peers`. */
  peer: z.enum(['live', 'stale', 'silent', 'prose']),
  /** Tasks of the orchestrator that the worker has. */
  tasks: z.number(),
});
export type Membership = z.output<typeof Membership>;
