import { z } from 'zod';

/** A call that was begun, and of whose end nothing is known yet. */
const StartedCall = z.object({
  id: z.string(),
  /** As the model calls it. */
  name: z.string(),
  detail: z.string().optional(),
  /** For a tool of ours that may simply be called again. */
  input: z.json().optional(),
});
export type StartedCall = z.output<typeof StartedCall>;

/** What a run by Claude Code has to know after a restart, beside what every run knows. */
export const ClaudeSessionState = z.object({
  /** Claude Code's own name for the conversation, which it keeps in the workspace. */
  id: z.string(),
  begun: z.array(StartedCall),
});
export type ClaudeSessionState = z.output<typeof ClaudeSessionState>;
