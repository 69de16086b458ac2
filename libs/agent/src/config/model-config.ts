import { z } from 'zod';

/**
 * Node's `fetch` gives up when an answer does not begin, or does not go on, for 300 s (the defaults of undici), so longer
 * deadlines would have no effect.
 */
const silence = z.number().min(1).max(290).default(240);

/** How patient a call of the model is: docs/agent.md#calls-that-fail. */
export const ModelCallsConfig = z.strictObject({
  /** How long a call is repeated that the provider refuses for the moment, or that does not reach it; 0: not at all. */
  patience_s: z.number().min(0).max(86_400).default(600),
  /** The same for a task that has spent nothing, while the provider is down: another worker may do it. */
  new_task_patience_s: z.number().min(0).max(86_400).default(10),
  /** How often an answer that broke off is asked for again. */
  broken_answers: z.int().min(0).max(10).default(2),
  first_token_s: silence,
  idle_s: silence,
});
