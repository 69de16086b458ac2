import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { modelMessageSchema } from 'ai';
import { z } from 'zod';
import { GuardState } from './guard-state.ts';
import { ClaudeSessionState } from './session-state.ts';

/** What a tool call did, for evidence and verification. */
const JournalEntry = z.object({
  tool: z.string(),
  ok: z.boolean(),
  detail: z.string().optional(),
  exit_code: z.int().nullable().optional(),
  /** A restart cut it off: whether it did what `detail` says is not known. */
  unknown: z.boolean().optional(),
  /** How many tests its output says that it ran; absent where it says nothing. */
  tests: z.int().nonnegative().optional(),
});
export type JournalEntry = z.output<typeof JournalEntry>;

export const ConversationState = z.object({
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
  /** What the guards have counted (absent before the first call). */
  guards: GuardState.optional(),
  /** The session of Claude Code that leads it, where one does. */
  claude: ClaudeSessionState.optional(),
  /** What the call under way has to know after a restart. */
  memo: z.object({ key: z.string(), value: z.record(z.string(), z.json()) }).optional(),
});

/** One conversation with the model. */
export type ConversationState = z.output<typeof ConversationState>;

/** The second, independent check: under way, or what came of it. */
const Review = z.discriminatedUnion('state', [
  z.object({ state: z.literal('open'), talk: ConversationState }),
  z.object({
    state: z.literal('closed'),
    verdict: z.enum(['ok', 'objections', 'not_judged', 'unreadable', 'skipped', 'failed']),
    detail: z.string(),
  }),
]);

const RunState = ConversationState.extend({
  version: z.literal(1),
  /** The commit that the task started from; empty without a workspace. */
  base: z.string(),
  /** The system prompt, as the run began with it. */
  instructions: z.string().optional(),
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
export function newConversation(message: string): ConversationState {
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

export const writeCheckpoint = (state: RunState): JsonObject => checkpointWriter()(state);

/**
 * Writes the checkpoints of one run. A message that is in the conversation stays as it is, so that each is made JSON
 * once: a step costs no more the longer the conversation is.
 */
export function checkpointWriter(): (state: RunState) => JsonObject {
  const written = new WeakMap<object, JsonObject>();
  return ({ messages, ...rest }) => ({
    ...toJson(rest),
    messages: messages.map((message) => {
      const json = written.get(message) ?? toJson(message);
      written.set(message, json);
      return json;
    }),
  });
}

function toJson(value: object): JsonObject {
  const json: unknown = JSON.parse(JSON.stringify(value));
  if (isJsonObject(json)) return json;
  throw new TypeError('a part of a checkpoint is no object');
}
