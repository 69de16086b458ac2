import { z } from 'zod';

const Count = z.int().nonnegative();
const counts = z.array(z.tuple([z.string(), Count])).default([]);

/** What the loop detector has counted; only calls that have come to an end count. */
export const LoopCounts = z.object({
  /** The file that was edited last, and how often since another one was edited or a verification tool was run. */
  streak: z.object({ path: z.string(), edits: Count }).optional(),
  /** Edits of each file since the last passing check. */
  edits: counts,
  /** Equal calls that succeeded since a file was edited or a check passed. */
  calls: counts,
  /** Equal errors since a check passed. */
  errors: counts,
  /** Warnings that were given, by what they are about: the level that each has reached. */
  warned: counts,
});
export type LoopCounts = z.output<typeof LoopCounts>;

/** Why a guard ended a conversation. */
export const GuardStop = z.object({ guard: z.string(), reason: z.string() });
export type GuardStop = z.output<typeof GuardStop>;

/** All that the guards of one conversation must know after a restart. */
export const GuardState = z.object({
  loop: LoopCounts.prefault({}),
  /** Bytes of full outputs that were kept in the workspace. */
  spilled_bytes: Count.default(0),
  stop: GuardStop.optional(),
});
export type GuardState = z.output<typeof GuardState>;

export const newGuardState = (): GuardState => GuardState.parse({});
