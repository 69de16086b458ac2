import type { LanguageModelV4 } from '@ai-sdk/provider';
import { FleetError, type ModelInfo, silentLog } from '@hermes-fleet/protocol';
import type { AgentConfig } from '../config/config.ts';
import { parseModelName } from '../config/model-name.ts';
import { createRunbookModel } from '../runbook/runbook-model.ts';
import { type ModelCalls, observedFetch } from './model-calls.ts';
import { createModelWindow, type ModelWindow } from './model-window.ts';
import { type Patience, patienceOf } from './patience.ts';

export interface AgentModel {
  readonly model: LanguageModelV4;
  readonly info: ModelInfo;
  /** Says if the reported usage is a provider's bill or our own count. */
  readonly usageSource: 'metered' | 'estimated';
  readonly calls?: ModelCalls | undefined;
  /** Default: that of an empty config.yaml. */
  readonly patience?: Patience;
}

export interface ModelDependencies {
  /** Read at every use, because the window may become known later; default: what is known without the provider. */
  readonly window?: ModelWindow | undefined;
  /** Learns how calls of the provider end. */
  readonly calls?: ModelCalls | undefined;
}

/**
 * Creates the model that config.yaml names, and loads only its provider's code. Throws CONFIG_INVALID when its key is
 * not set: there is no fallback.
 */
export async function createModel(
  config: AgentConfig,
  tier: string,
  env: { read(name: string): string | undefined },
  { calls, ...rest }: ModelDependencies = {},
): Promise<AgentModel> {
  const named = parseModelName(config.model);
  if (named === undefined) throw invalid('model', `"${config.model}" names no model`);
  const window = rest.window ?? createModelWindow(config, silentLog);
  const info: ModelInfo = {
    id: config.model,
    tier,
    get contextWindow() {
      return window.tokens();
    },
    get isWindowPending() {
      return window.isPending();
    },
  };
  if (named.provider === 'offline') {
    return { model: createRunbookModel(), info, usageSource: 'estimated' };
  }
  const patience = patienceOf(config.model_calls);
  const observed = calls === undefined ? {} : { fetch: observedFetch(calls) };
  if (named.provider === 'anthropic') {
    const apiKey = modelKey(env, config.api_key_env ?? 'ANTHROPIC_API_KEY', config.model);
    const beta = named.longContext ? { headers: { 'anthropic-beta': 'context-1m-2025-08-07' } } : {};
    const address =
      config.base_url === undefined ? {} : { baseURL: `${anthropicAddress(config.base_url)}/v1` };
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    const provider = createAnthropic({ apiKey, ...address, ...beta, ...observed });
    return { model: provider(named.name), info, usageSource: 'metered', calls, patience };
  }
  if (config.base_url === undefined) throw invalid('base_url', `is required by ${config.model}`);
  const apiKey =
    config.api_key_env === undefined ? {} : { apiKey: modelKey(env, config.api_key_env, config.model) };
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const provider = createOpenAICompatible({
    name: 'openai-compatible',
    baseURL: config.base_url,
    ...apiKey,
    ...observed,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
  return { model: provider(named.name), info, usageSource: 'metered', calls, patience };
}

/** Removes `/v1` from the address of an Anthropic API: both forms may be configured. */
export const anthropicAddress = (baseUrl: string): string => baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');

/** Reads a model's key; throws CONFIG_INVALID when its variable is not set. */
export function modelKey(
  env: { read(name: string): string | undefined },
  name: string,
  model: string,
): string {
  const value = env.read(name);
  if (value) return value;
  throw invalid(
    'model',
    `${model} needs a key in ${name}, which is not set; set it, or choose offline/runbook`,
  );
}

function invalid(field: string, reason: string): FleetError {
  return new FleetError('CONFIG_INVALID', `config.yaml ${field}: ${reason}`, {
    fields: [{ path: `config.yaml ${field}`, reason }],
  });
}
