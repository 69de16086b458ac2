import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Clock, ModelInfo } from '@hermes-fleet/protocol/ports';
import type { z } from 'zod';
import type { AgentConfig } from '../../config/config-yaml.ts';
import { ModelCallsConfig } from '../../config/model-config.ts';
import type { CallMeasurement } from './measured-call.ts';
import type { ModelCalls } from './model-calls.ts';

export interface AgentModel {
  readonly model: LanguageModelV4;
  readonly info: ModelInfo;
  /** Says if the reported usage is a provider's bill or our own count. */
  readonly usageSource: 'metered' | 'estimated';
  readonly calls?: ModelCalls | undefined;
  /** How its calls are measured where `model` does not make them, as with Claude Code. */
  readonly measurement?: CallMeasurement | undefined;
  /** Default: that of an empty config.yaml. */
  readonly patience?: Patience;
  readonly settings?: CallSettings;
  /** What no text may quote: the key, and the values of headers. */
  readonly secrets?: readonly string[];
  /** The definitions of tools that its provider refuses (`conversation/offered-tools.ts`); absent: none is left out. */
  readonly refusedTools?: Set<string>;
  /** The models that a call tries, itself first; absent: only itself. */
  readonly fallbacks?: Fallbacks;
}

interface CallSettings {
  readonly temperature?: number;
  readonly reasoning?: NonNullable<AgentConfig['effort']>;
}

/** The models that a call tries (docs/agent.md#fallback-models). */
interface Fallbacks {
  /** Those that failed lately come last. */
  inOrder(clock: Clock): readonly AgentModel[];
  /** The model could not be called: for a while, others are tried first. */
  failed(model: AgentModel, clock: Clock): void;
}

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

/** After this time, a model that could not be called is tried first again. */
const PAUSE_MS = 60_000;

/** A model with others behind it. It has the identity and the window of the first. */
export function withFallbacks(first: AgentModel, others: readonly AgentModel[]): AgentModel {
  if (others.length === 0) return first;
  const all = [first, ...others];
  const pausedUntil = new Map<AgentModel, number>();
  return {
    ...first,
    fallbacks: {
      inOrder(clock) {
        const now = clock.monotonic();
        const isPaused = (model: AgentModel): boolean => (pausedUntil.get(model) ?? now) > now;
        return [...all.filter((model) => !isPaused(model)), ...all.filter(isPaused)];
      },
      failed(model, clock) {
        pausedUntil.set(model, clock.monotonic() + PAUSE_MS);
      },
    },
  };
}
