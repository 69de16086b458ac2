import type { z } from 'zod';
import { ModelCallsConfig } from '../../config/model-config.ts';

/** How patient a call of a model is (docs/agent.md#calls-that-fail). */
export interface Patience {
  /** How long a call is repeated that is refused for the moment, or does not reach the provider. */
  readonly patienceMs: number;
  /** The same for a task that has spent nothing, while the provider is down. */
  readonly newTaskPatienceMs: number;
  /** How often an answer that broke off is asked for again. */
  readonly brokenAnswers: number;
  readonly firstTokenMs: number;
  readonly idleMs: number;
}

export const patienceOf = (config: z.output<typeof ModelCallsConfig>): Patience => ({
  patienceMs: config.patience_s * 1000,
  newTaskPatienceMs: config.new_task_patience_s * 1000,
  brokenAnswers: config.broken_answers,
  firstTokenMs: config.first_token_s * 1000,
  idleMs: config.idle_s * 1000,
});

export const DEFAULT_PATIENCE: Patience = patienceOf(ModelCallsConfig.parse({}));
