import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { modelMessageSchema } from 'ai';
import { z } from 'zod';

/** What one of several delegations that run at the same time may spend, and has spent. Part of the checkpoint. */
export const BudgetShare = z.object({
  /** Absent without a ceiling. */
  limit: z.number().optional(),
  /** What the task had spent when the share was made. */
  before: z.number(),
  spent: z.number(),
});
export type BudgetShare = z.output<typeof BudgetShare>;

const Count = z.int().nonnegative();
const counts = z.array(z.tuple([z.string(), Count])).default([]);
const marks = z.array(z.string()).default([]);

/** What a conversation knows about its model's context window; it survives a restart (docs/agent.md#long-conversations). */
export const ContextState = z.object({
  /** The model that the figures hold for. Another one starts without them. */
  model: z.string(),
  /** The highest metered input divided by our estimate, of the calls with a large input. */
  ratio: z.number().positive().optional(),
  /** The most metered tokens beyond our estimate, of the calls with a small input. */
  extra: Count.default(0),
  /** A window that is smaller than the configured one, learnt from the provider's refusal. */
  window: z.int().positive().optional(),
  /** Outputs moved to files so far; names the next file. */
  kept: Count.default(0),
  /** The size after the last compaction, in corrected tokens. */
  floor: Count.default(0),
  failures: Count.default(0),
});
export type ContextState = z.output<typeof ContextState>;

export const newContextState = (model: string): ContextState => ContextState.parse({ model });

/** An edit of a file, as far as later edits are compared with it. */
export const EditRecord = z.object({
  path: z.string(),
  id: z.string(),
  /** Edits of what an earlier edit wrote have the region of that edit. */
  region: Count,
  /** Marks of the lines that it removed and of those that it added. */
  was: marks,
  now: marks,
  /** The call that made it, counted from the start of the conversation. */
  at: Count,
  /** How often its region was rewritten since a check passed, and of these since anything was looked at. */
  depth: Count,
  blind: Count,
  /** True if it restored or repeated something. */
  again: z.boolean().optional(),
});
export type EditRecord = z.output<typeof EditRecord>;

/** The loop detector's state (docs/agent.md#guards). Only ended calls count. */
export const LoopCounts = z.object({
  /** The last edited file, and its edits since another file was edited or a verification tool ran. */
  streak: z.object({ path: z.string(), edits: Count }).optional(),
  /** Repetitions of calls with equal results, since anything changed. */
  calls: counts,
  /** Repetitions of errors, since anything changed. */
  errors: counts,
  /** The highest warning level given for each subject. */
  warned: counts,
  /** Calls with their results that are known: repeating one shows nothing new. */
  seen: z.array(z.string()).default([]),
  /** The last edits, oldest first. */
  history: z.array(EditRecord).default([]),
  /** The lines of the files that were last written whole, as marks. */
  contents: z.array(z.tuple([z.string(), z.string()])).default([]),
  /** How far the calls go in circles: repetitions raise it, news lower it. */
  score: Count.default(0),
  subject: z.string().optional(),
  /** Calls so far; the last one that tried to verify or looked at something, and the last one that showed something new. */
  ended: Count.default(0),
  looked: Count.default(0),
  news: Count.default(0),
  /** Background processes that ran at the last look at each. */
  processes: z.array(z.string()).default([]),
  /** True if nothing was changed and no check has failed since a check passed. */
  settled: z.boolean().default(false),
  step: Count.default(0),
  /** The step of the warning that is in force, and of the last repetition. */
  warned_at: Count.optional(),
  circled_at: Count.optional(),
});
export type LoopCounts = z.output<typeof LoopCounts>;

export const GuardStop = z.object({ guard: z.string(), reason: z.string() });
export type GuardStop = z.output<typeof GuardStop>;

/** The state of one conversation's guards that survives a restart. */
export const GuardState = z.object({
  loop: LoopCounts.prefault({}),
  /** Bytes of full outputs that are kept in the workspace. */
  spilled_bytes: Count.default(0),
  stop: GuardStop.optional(),
});
export type GuardState = z.output<typeof GuardState>;

export const newGuardState = (): GuardState => GuardState.parse({});

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
  instructions: z.string().optional(),
  nudges: z.int().nonnegative(),
  /** The model was told that its last message is not an end, which happens once. */
  ending_told: z.boolean().optional(),
  /** The model was asked to repair its reply, which happens once. */
  repaired: z.boolean().optional(),
  review: Review.optional(),
});

/** A run's checkpoint: everything that a restart needs (docs/agent.md#resume). */
export type RunState = z.output<typeof RunState>;
export type ClosedReview = Extract<RunState['review'], { state: 'closed' }>;

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

/** Writes checkpoints at a cost that does not grow: messages never change, so each is converted to JSON once. */
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
