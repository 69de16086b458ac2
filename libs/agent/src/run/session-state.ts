import { z } from 'zod';

/** A call that was begun, and of whose end nothing is known yet. */
const BegunCall = z.object({
  id: z.string(),
  /** As the model calls it. */
  name: z.string(),
  detail: z.string().optional(),
  /** For a tool of ours that may simply be called again. */
  input: z.json().optional(),
});
export type BegunCall = z.output<typeof BegunCall>;

/** What a run by Claude Code has to know after a restart, beside what every run knows. */
export const SessionState = z.object({
  /** Claude Code's own name for the conversation, which it keeps in the workspace. */
  id: z.string(),
  begun: z.array(BegunCall),
});
export type SessionState = z.output<typeof SessionState>;
