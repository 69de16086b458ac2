import { type Attempt, type JsonObject, type JsonValue, type Unmet, UnmetKind } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { ConsideredPeers, Delegation, encodeConsidered, encodeDelegation } from './delegation/delegation.ts';

const Refused = z.object({
  peer: z.string(),
  reason: z.string(),
  unmet: z.array(z.object({ kind: UnmetKind, name: z.string(), detail: z.string(), transient: z.boolean() })),
  /** Time of the last refusal, ms since the epoch. */
  at: z.number().default(0),
  /** How many times the peer has refused this task. */
  times: z.number().default(1),
  /** The peer is not asked before this time, whatever it announces. */
  until: z.number().default(0),
  /** The peer is not asked before this time unless it announces itself again; absent: never without an announce. */
  silentUntil: z.number().optional(),
  /** The reason may pass. */
  transient: z.boolean().default(true),
});

const Waiting = z.object({
  /** Start of the wait, ms since the epoch; a restart does not reset it. */
  since: z.number(),
  /** The alert about a long wait was sent. */
  alerted: z.boolean(),
});

const Checkpoint = z.object({
  relay: z.literal(1),
  attempts: z.array(
    z.object({
      peer: z.string(),
      status: z.string(),
      reason: z.string().nullable().optional(),
      tokensSpent: z.number(),
      startedAt: z.string(),
      endedAt: z.string(),
      considered: ConsideredPeers.optional(),
    }),
  ),
  refusals: z.array(Refused),
  waiting: Waiting.optional(),
  current: Delegation.optional(),
});

/** A peer's refusal of the task; at most one entry per peer. */
export interface Refusal extends Omit<z.output<typeof Refused>, 'unmet'> {
  readonly unmet: readonly Unmet[];
}

/** The progress of a relayed task, kept in its checkpoint. */
export interface RelayState {
  readonly attempts: readonly Attempt[];
  readonly refusals: readonly Refusal[];
  readonly waiting: z.output<typeof Waiting> | undefined;
  readonly current: Delegation | undefined;
}

export const INITIAL_STATE: RelayState = {
  attempts: [],
  refusals: [],
  waiting: undefined,
  current: undefined,
};

export function decodeRelayState(checkpoint: JsonObject | undefined): RelayState {
  if (checkpoint === undefined) return INITIAL_STATE;
  const { attempts, refusals, waiting, current } = Checkpoint.parse(checkpoint);
  return { attempts, refusals, waiting, current };
}

export function encodeRelayState({ attempts, refusals, waiting, current }: RelayState): JsonObject {
  return {
    relay: 1,
    attempts: attempts.map(({ peer, status, reason, tokensSpent, startedAt, endedAt, considered }) => ({
      peer,
      status,
      tokensSpent,
      startedAt,
      endedAt,
      reason: reason ?? null,
      ...encodeConsidered(considered),
    })),
    refusals: refusals.map(({ silentUntil, ...refusal }) => ({
      ...refusal,
      unmet: refusal.unmet.map(({ kind, name, detail, transient }): JsonValue => {
        return { kind, name, detail, transient };
      }),
      ...(silentUntil === undefined ? {} : { silentUntil }),
    })),
    ...(waiting ? { waiting: { ...waiting } } : {}),
    ...(current ? { current: encodeDelegation(current) } : {}),
  };
}
