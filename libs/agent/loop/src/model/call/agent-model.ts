import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Clock, ModelInfo } from '@hermes-fleet/protocol/ports';
import type { AgentConfig } from '../../config/config.ts';
import type { CallMeasurement } from './measured-model.ts';
import type { ModelCalls } from './model-calls.ts';
import type { Patience } from './patience.ts';

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
  /** The models that a call tries, itself first; absent: only itself. */
  readonly fallbacks?: Fallbacks;
}

/** What config.yaml sets for every call. */
export interface CallSettings {
  readonly temperature?: number;
  readonly reasoning?: NonNullable<AgentConfig['effort']>;
}

/** The models that a call tries (docs/agent.md#fallback-models). */
export interface Fallbacks {
  /** Those that failed lately come last. */
  inOrder(clock: Clock): readonly AgentModel[];
  /** The model could not be called: for a while, others are tried first. */
  failed(model: AgentModel, clock: Clock): void;
}
