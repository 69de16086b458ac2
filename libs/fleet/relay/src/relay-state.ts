import type { JsonObject } from '@hermes-fleet/protocol';
import { type Attempt, type Unmet, UnmetKind } from '@hermes-fleet/protocol/handshake';
import { z } from 'zod';
import { ConsideredPeers, Delegation } from './delegation/delegation.ts';

const Refused = z.object({
  peer: z.string(),
  reason: z.string(),
  unmet: z.array(z.object({ kind: UnmetKind, name: z.string(), detail: z.string(), transient: z.boolean() })),
  /** Time of the last refusal, ms since the epoch. */
  at: z.number(),
  /** How many times the peer has refused this task. */
  times: z.number(),
  /** The peer is not asked before this time, whatever it announces. */
  until: z.number(),
  /** The peer is not asked before this time unless it announces itself again; absent: never without an announce. */
  silentUntil: z.number().optional(),
  /** The reason may pass. */
  transient: z.boolean(),
});

const Waiting = z.object({
  /** Start of the wait, ms since the epoch; a restart does not reset it. */
  since: z.number(),
  /** The alert about a long wait was sent. */
  alerted: z.boolean(),
  /** A peer can take the task as soon as it has a free slot. */
  queued: z.boolean(),
  /** When `queued` changed last, ms since the epoch; absent: at the start of the wait. */
  changedAt: z.number().optional(),
  /** The time before that in which no peer could take the task, ms. */
  unplaceableMs: z.number(),
});

/** The task ended while its peer was doing it, as far as is known. */
const GivenUp = z.object({
  /** Ms since the epoch. */
  at: z.number(),
});

const Checkpoint = z.object({
  relay: z.literal(1),
  attempts: z.array(
    z.object({
      peer: z.string(),
      status: z.string(),
      reason: z.string().nullable(),
      tokensSpent: z.number(),
      startedAt: z.string(),
      endedAt: z.string(),
      peerTaskId: z.string().optional(),
      considered: ConsideredPeers.optional(),
    }),
  ),
  refusals: z.array(Refused),
  /** The number of refusals that count for `max_attempts`. */
  refused: z.number(),
  /** How many times a peer had no free slot. */
  turnedAway: z.number(),
  waiting: Waiting.optional(),
  current: Delegation.optional(),
  given_up: GivenUp.optional(),
});

/** A peer's refusal of the task; at most one entry per peer. */
export interface Refusal extends Omit<z.output<typeof Refused>, 'unmet'> {
  readonly unmet: readonly Unmet[];
}

/** The progress of a relayed task, kept in its checkpoint. */
export interface RelayState extends Readonly<Pick<z.output<typeof Checkpoint>, 'refused' | 'turnedAway'>> {
  readonly attempts: readonly Attempt[];
  readonly refusals: readonly Refusal[];
  readonly waiting: z.output<typeof Waiting> | undefined;
  readonly current: Delegation | undefined;
  /** The checkpoint is kept after the end of the task. */
  readonly givenUp: z.output<typeof GivenUp> | undefined;
}

export const INITIAL_STATE: RelayState = {
  attempts: [],
  refusals: [],
  refused: 0,
  turnedAway: 0,
  waiting: undefined,
  current: undefined,
  givenUp: undefined,
};

export function decodeRelayState(checkpoint: JsonObject | undefined): RelayState {
  if (checkpoint === undefined) return INITIAL_STATE;
  const { relay: _, given_up: givenUp, waiting, current, ...rest } = Checkpoint.parse(checkpoint);
  return { ...rest, waiting, current, givenUp };
}

/** The peer that has the task of this checkpoint; undefined for a task without one, and for one that is run here. */
export function peerWithTask(checkpoint: JsonObject | undefined): string | undefined {
  return checkpoint?.relay === 1 ? decodeRelayState(checkpoint).current?.peer : undefined;
}

/** The checkpoint of a state, without fields that only its messages had. */
export function encodeRelayState({ givenUp, attempts, ...state }: RelayState): JsonObject {
  const checkpoint = Checkpoint.parse({
    ...state,
    relay: 1,
    attempts: attempts.map(({ reason = null, ...attempt }) => ({ ...attempt, reason })),
    given_up: givenUp,
  });
  // JSON has no fields without a value.
  return { ...(checkpoint as JsonObject), ...(givenUp && { keep_after_end: true }) };
}
