import { z } from 'zod';

const Count = z.int().nonnegative();
const counts = z.array(z.tuple([z.string(), Count])).default([]);

/** The loop detector's counters. Only ended calls count. */
export const LoopCounts = z.object({
  /** The last edited file, and its edits since another file was edited or a verification tool ran. */
  streak: z.object({ path: z.string(), edits: Count }).optional(),
  /** Edits of each file since the last passing check. */
  edits: counts,
  /** Identical successful calls since a file was edited or a check passed. */
  calls: counts,
  /** Identical errors since a check passed. */
  errors: counts,
  /** The highest warning level given for each subject. */
  warned: counts,
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
