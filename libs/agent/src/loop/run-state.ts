import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { modelMessageSchema } from 'ai';
import { z } from 'zod';

/** What a tool call did, for evidence and verification. */
const JournalEntry = z.object({
  tool: z.string(),
  ok: z.boolean(),
  detail: z.string().optional(),
  exit_code: z.int().nullable().optional(),
});
export type JournalEntry = z.output<typeof JournalEntry>;

const TalkState = z.object({
  step: z.int().nonnegative(),
  /** Why the model finished, once it has: a restart then only has to go on from there. */
  finished: z.string().optional(),
  messages: z.array(modelMessageSchema),
  /** It was paused before it started the calls that are pending: they can be carried out as they stand. */
  paused: z.boolean().optional(),
  /** The model was told to wrap up, which happens once. */
  wrapped_up: z.boolean().optional(),
  /** What was asked last is to be answered without tools. */
  tools_off: z.boolean().optional(),
  journal: z.array(JournalEntry),
  /** What the call under way has to know after a restart. */
  memo: z.object({ key: z.string(), value: z.record(z.string(), z.json()) }).optional(),
});

/** One conversation with the model. */
export type TalkState = z.output<typeof TalkState>;

/** The second, independent check: under way, or what came of it. */
const Review = z.discriminatedUnion('state', [
  z.object({ state: z.literal('open'), talk: TalkState }),
  z.object({
    state: z.literal('closed'),
    verdict: z.enum(['ok', 'objections', 'not_judged', 'unreadable', 'skipped', 'failed']),
    detail: z.string(),
  }),
]);

const RunState = TalkState.extend({
  version: z.literal(1),
  /** The commit that the task started from; empty without a workspace. */
  base: z.string(),
  /** How often the model was told what is not verified. */
  nudges: z.int().nonnegative().default(0),
  /** A reply that missed its schema was asked for again, which happens once. */
  repaired: z.boolean().optional(),
  review: Review.optional(),
});

/** Where a run stands: all that a restart needs. */
export type RunState = z.output<typeof RunState>;
export type ReviewState = NonNullable<RunState['review']>;
export type ClosedReview = Extract<ReviewState, { state: 'closed' }>;

/** A conversation that begins with a user's message. */
export function newTalk(message: string): TalkState {
  return { step: 0, messages: [{ role: 'user', content: message }], journal: [] };
}

/** Reads a checkpoint; INTERNAL when it is not one of ours. */
export function readCheckpoint(checkpoint: JsonObject): RunState {
  const parsed = RunState.safeParse(checkpoint);
  if (parsed.success) return parsed.data;
  throw new FleetError('INTERNAL', 'the checkpoint of this task cannot be read by this version', {
    cause: parsed.error,
  });
}

export function writeCheckpoint(state: RunState): JsonObject {
  return z.record(z.string(), z.json()).parse(JSON.parse(JSON.stringify(state)));
}
