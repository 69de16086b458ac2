import { z } from 'zod';

const Count = z.int().nonnegative();
const counts = z.array(z.tuple([z.string(), Count])).default([]);
const marks = z.array(z.string()).default([]);

/** An edit of a file, as far as later edits are compared with it. */
export const EditRecord = z.object({
  path: z.string(),
  /** Equal for equal edits. */
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
  /** What the last repetition was. */
  subject: z.string().optional(),
  /** Calls so far; the last one that tried to verify or looked at something, and the last one that showed something new. */
  ended: Count.default(0),
  looked: Count.default(0),
  news: Count.default(0),
  /** Background processes that ran at the last look at each. */
  processes: z.array(z.string()).default([]),
  /** True if nothing was changed and no check has failed since a check passed. */
  settled: z.boolean().default(false),
  /** The step of the model that makes the calls. */
  step: Count.default(0),
  /** The step of the warning that is in force, and of the last repetition. */
  warned_at: Count.optional(),
  circled_at: Count.optional(),
});
export type LoopCounts = z.output<typeof LoopCounts>;

/** Why a guard ended a conversation. */
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
