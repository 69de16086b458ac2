import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { modelMessageSchema } from 'ai';
import { z } from 'zod';
import { BudgetShare } from './budget-share.ts';
import { ContextState } from './context-state.ts';
import { GuardState } from './guard-state.ts';

/** A tool call's effect, for evidence and verification. */
const JournalEntry = z.object({
  tool: z.string(),
  ok: z.boolean(),
  detail: z.string().optional(),
  exit_code: z.int().nullable().optional(),
  /** A restart interrupted the call: whether it had the effect in `detail` is not known. */
  unknown: z.boolean().optional(),
  /** The call was not carried out: no such tool, invalid or truncated input, or the run was ending. */
  refused: z.boolean().optional(),
  /** Tests that ran, by the call's output; absent where the output does not say. */
  tests: z.int().nonnegative().optional(),
});
export type JournalEntry = z.output<typeof JournalEntry>;

/** A call that has started and whose result is not recorded yet. */
const StartedCall = z.object({
  id: z.string(),
  /** The model's name for the tool. */
  name: z.string(),
  detail: z.string().optional(),
  /** Present only for a repeatable tool of the agent's own. */
  input: z.json().optional(),
});
export type StartedCall = z.output<typeof StartedCall>;

/** What a restart needs in addition where the executor has sessions of its own, such as those of Claude Code. */
export const SessionState = z.object({
  /** The executor's name of the session; its files are in the workspace. */
  id: z.string(),
  begun: z.array(StartedCall),
});
export type SessionState = z.output<typeof SessionState>;

/** One conversation with the model. */
export const ConversationState = z.object({
  step: z.int().nonnegative(),
  /** The finish reason, once the model has finished: a restart then continues after the conversation. */
  finished: z.string().optional(),
  messages: z.array(modelMessageSchema),
  /** Paused before the pending calls started: they can be carried out as they are. */
  paused: z.boolean().optional(),
  /** The model was told to wrap up, which happens once. */
  wrapped_up: z.boolean().optional(),
  /** The limit that it was told to wrap up for; absent with Claude Code, which is told of the budget only. */
  wrapped_up_for: z.enum(['budget', 'steps', 'window']).optional(),
  /** The last follow-up prompt must be answered without tools. */
  tools_off: z.boolean().optional(),
  journal: z.array(JournalEntry),
  /** Absent before the first call. */
  guards: GuardState.optional(),
  /** Absent before the first step. */
  context: ContextState.optional(),
  /** Absent with the loop. */
  session: SessionState.optional(),
  /** Saved by the running calls, each by its key, for their repetition after a restart. */
  memos: z.record(z.string(), z.record(z.string(), z.json())).optional(),
  /** The budgets of delegations that run at the same time, by the keys of their calls. */
  shares: z.record(z.string(), BudgetShare).optional(),
});
export type ConversationState = z.output<typeof ConversationState>;

/** Removes what the ended call with this key has saved. */
export function forgetCall(state: ConversationState, key: string): void {
  state.memos = without(state.memos, key);
  state.shares = without(state.shares, key);
}

function without<T>(record: Record<string, T> | undefined, key: string): Record<string, T> | undefined {
  if (record === undefined) return undefined;
  const { [key]: _ended, ...rest } = record;
  return Object.keys(rest).length === 0 ? undefined : rest;
}

/** The independent review: running, or its result. */
const Review = z.discriminatedUnion('state', [
  z.object({ state: z.literal('open'), talk: ConversationState }),
  z.object({
    state: z.literal('closed'),
    verdict: z.enum(['ok', 'objections', 'not_judged', 'unreadable', 'skipped', 'failed']),
    detail: z.string(),
    /** The objections that were handed back, and the length of the journal then. */
    objections: z.array(z.string()).optional(),
    journal: z.int().nonnegative().optional(),
  }),
]);

const RunState = ConversationState.extend({
  version: z.literal(1),
  /** The messages are for the next task of the context too (docs/agent.md#going-on). */
  keep_conversation: z.literal(true).optional(),
  /** The commit that the task started from; empty without a workspace. */
  base: z.string(),
  /** The system prompt that the run started with. */
  instructions: z.string().optional(),
  /** The number of prompts about unverified writes so far. */
  nudges: z.int().nonnegative(),
  /** The model was told that its last message is not an end, which happens once. */
  ending_told: z.boolean().optional(),
  /** The model was asked to repair its reply, which happens once. */
  repaired: z.boolean().optional(),
  review: Review.optional(),
});

/** A run's checkpoint: everything that a restart needs (docs/agent.md#resume). */
export type RunState = z.output<typeof RunState>;
export type ReviewState = NonNullable<RunState['review']>;
export type ClosedReview = Extract<ReviewState, { state: 'closed' }>;

export function newConversation(userMessage: string): ConversationState {
  return { step: 0, messages: [{ role: 'user', content: userMessage }], journal: [] };
}

/** Throws INTERNAL when the checkpoint cannot be read. */
export function readCheckpoint(checkpoint: JsonObject): RunState {
  // `claude` is the session's name in a checkpoint of an earlier build.
  const parsed = RunState.safeParse(
    'claude' in checkpoint ? { ...checkpoint, session: checkpoint.claude } : checkpoint,
  );
  if (parsed.success) return parsed.data;
  throw new FleetError('INTERNAL', 'the checkpoint of this task cannot be read by this version', {
    cause: parsed.error,
  });
}

/**
 * Writes the checkpoints of one run. Messages never change once they are in the conversation, so each is converted to
 * JSON once: the cost of a checkpoint does not grow with the conversation.
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
  throw new TypeError('a part of a checkpoint is not a JSON object');
}
