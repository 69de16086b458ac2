import { z } from 'zod';

const Count = z.int().nonnegative();

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
  /** Summaries that could not be made. */
  failures: Count.default(0),
});
export type ContextState = z.output<typeof ContextState>;

export const newContextState = (model: string): ContextState => ContextState.parse({ model });
