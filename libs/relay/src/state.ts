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

const Considered = z.array(
  z.object({
    peer: z.string(),
    verdict: z.enum(['chosen', 'eligible', 'excluded']),
    score: z.number(),
    reasons: z.array(z.string()),
  }),
);

const Delegation = z.object({
  peer: z.string(),
  messageId: z.string(),
  contextId: z.string(),
  /** The dispatch as it was sent first, or `{ text }` to a prose peer; every further send repeats it byte for byte. */
  payload: json,
  /** Whether the peer speaks prose, and is spoken to in it. */
  prose: z.boolean().optional(),
  /** The budget that it was given, tokens; absent for none. */
  slice: z.number().optional(),
  startedAt: z.string(),
  remoteTaskId: z.string().optional(),
  /** How many of its questions were answered or taken back, and whether the last answer is known to have arrived. */
  answers: z
    .object({ count: z.number(), delivered: z.boolean(), statusId: z.string().optional() })
    .optional(),
  /** What it asks, and its caller was asked last; absent once that is answered, or over. */
  asked: z.object({ text: z.string(), statusId: z.string().optional() }).optional(),
  /** Why this peer: what routing said about it and the others. */
  considered: Considered.optional(),
});

const Refused = z.object({
  peer: z.string(),
  reason: z.string(),
  unmet: z.array(z.object({ kind: UnmetKind, name: z.string(), detail: z.string(), transient: z.boolean() })),
  /** When it refused last, ms since the epoch. */
  at: z.number().default(0),
  /** How often it has refused this task. */
  times: z.number().default(1),
  /** Until when it is not asked again, whatever it announces. */
  until: z.number().default(0),
  /** Until when it is not asked again unless it announces itself anew; absent: for good. */
  silentUntil: z.number().optional(),
  /** Whether what stood in the way may pass. */
  transient: z.boolean().default(true),
});

const Waiting = z.object({
  /** When the task first had to wait, ms since the epoch: a restart goes on with the same clock. */
  since: z.number(),
  /** Whether it was said that it waits longer than it should. */
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
      considered: Considered.optional(),
    }),
  ),
  refusals: z.array(Refused),
  waiting: Waiting.optional(),
  current: Delegation.optional(),
});

/** A dispatch that is, or may be, with a peer. */
export type Delegation = z.output<typeof Delegation>;

/** A peer that did not take the task, and why; one entry per peer. */
export interface Refusal extends Omit<z.output<typeof Refused>, 'unmet'> {
  readonly unmet: readonly Unmet[];
}

/** How long a relayed task has waited for a peer that can take it. */
export type Waiting = z.output<typeof Waiting>;

/** Where a relayed task stands; what a restart goes on from. */
export interface RelayState {
  readonly attempts: readonly Attempt[];
  readonly refusals: readonly Refusal[];
  readonly waiting: Waiting | undefined;
  readonly current: Delegation | undefined;
}

export const FRESH_STATE: RelayState = { attempts: [], refusals: [], waiting: undefined, current: undefined };

export function decodeState(checkpoint: JsonObject | undefined): RelayState {
  if (checkpoint === undefined) return FRESH_STATE;
  const { attempts, refusals, waiting, current } = Checkpoint.parse(checkpoint);
  return { attempts, refusals, waiting, current };
}

export function encodeState({ attempts, refusals, waiting, current }: RelayState): JsonObject {
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

function encodeDelegation(delegation: Delegation): JsonObject {
  const { remoteTaskId, prose, slice, answers, asked, considered, ...rest } = delegation;
  return {
    ...rest,
    ...(slice === undefined ? {} : { slice }),
    ...(prose === undefined ? {} : { prose }),
    ...(remoteTaskId === undefined ? {} : { remoteTaskId }),
    ...(answers === undefined ? {} : { answers: withStatus(answers) }),
    ...(asked === undefined ? {} : { asked: withStatus(asked) }),
    ...encodeConsidered(considered),
  };
}

function withStatus({
  statusId,
  ...rest
}: NonNullable<Delegation['answers'] | Delegation['asked']>): JsonObject {
  return { ...rest, ...(statusId === undefined ? {} : { statusId }) };
}

function encodeConsidered(considered: Attempt['considered']): JsonObject {
  if (considered === undefined) return {};
  return {
    considered: considered.map(({ peer, verdict, score, reasons }) => ({ peer, verdict, score, reasons })),
  };
}
