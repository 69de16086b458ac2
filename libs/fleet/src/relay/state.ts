import {
  type Attempt,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Unmet,
  UnmetKind,
} from '@hermes-fleet/protocol';
import { z } from 'zod';

const json = z.custom<JsonObject>(isJsonObject);

const Delegation = z.object({
  peer: z.string(),
  messageId: z.string(),
  contextId: z.string(),
  /** The dispatch as it was sent first; every further send repeats it byte for byte. */
  payload: json,
  startedAt: z.string(),
  remoteTaskId: z.string().optional(),
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
    }),
  ),
  refusals: z.array(
    z.object({
      peer: z.string(),
      reason: z.string(),
      unmet: z.array(
        z.object({ kind: UnmetKind, name: z.string(), detail: z.string(), transient: z.boolean() }),
      ),
    }),
  ),
  current: Delegation.optional(),
});

/** A dispatch that is, or may be, with a peer. */
export type Delegation = z.output<typeof Delegation>;

/** A peer that did not take the task, and why. */
export interface Refusal {
  readonly peer: string;
  readonly reason: string;
  readonly unmet: readonly Unmet[];
}

/** Where a relayed task stands; what a restart goes on from. */
export interface RelayState {
  readonly attempts: readonly Attempt[];
  readonly refusals: readonly Refusal[];
  readonly current: Delegation | undefined;
}

export const FRESH_STATE: RelayState = { attempts: [], refusals: [], current: undefined };

export function decodeState(checkpoint: JsonObject | undefined): RelayState {
  if (checkpoint === undefined) return FRESH_STATE;
  const { attempts, refusals, current } = Checkpoint.parse(checkpoint);
  return { attempts, refusals, current };
}

export function encodeState({ attempts, refusals, current }: RelayState): JsonObject {
  return {
    relay: 1,
    attempts: attempts.map(({ peer, status, reason, tokensSpent, startedAt, endedAt }) => ({
      ...{ peer, status, tokensSpent, startedAt, endedAt },
      reason: reason ?? null,
    })),
    refusals: refusals.map(({ peer, reason, unmet }) => ({
      ...{ peer, reason },
      unmet: unmet.map(({ kind, name, detail, transient }): JsonValue => ({ kind, name, detail, transient })),
    })),
    ...(current ? { current: encodeDelegation(current) } : {}),
  };
}

function encodeDelegation({ remoteTaskId, ...rest }: Delegation): JsonObject {
  return remoteTaskId === undefined ? rest : { ...rest, remoteTaskId };
}
