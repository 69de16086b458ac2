import { FleetError } from '@hermes-fleet/protocol';
import type { AgentConfig } from '../../config/config.ts';
import type { ModelName } from '../../config/model-name.ts';

export interface ReadableEnv {
  read(name: string): string | undefined;
}

/** Where the calls of a model go, and with which key. */
export interface Endpoint {
  /** Undefined: the provider's package knows it. */
  readonly baseUrl: string | undefined;
  readonly key: string | undefined;
  /** The name of the output limit that the API is first sent; undefined where there is no choice. */
  readonly limitName: 'max_tokens' | 'max_completion_tokens' | undefined;
}

/** Address and key of the hosted providers that config.yaml need not name. */
const HOSTED = {
  openai: {
    baseUrl: 'https://api.openai.com/v1',
    keyName: 'OPENAI_API_KEY',
    limitName: 'max_completion_tokens',
  },
  openrouter: {
    baseUrl: 'https://openrouter.ai/api/v1',
    keyName: 'OPENROUTER_API_KEY',
    limitName: 'max_tokens',
  },
} as const;

/** Throws CONFIG_INVALID when the key that the provider needs, or that config.yaml names, is not set. */
export function endpointOf(
  { model, base_url: baseUrl, api_key_env: named }: Pick<AgentConfig, 'model' | 'base_url' | 'api_key_env'>,
  { provider }: Pick<ModelName, 'provider'>,
  env: ReadableEnv,
): Endpoint {
  const keyOf = (name: string | undefined): string | undefined =>
    name === undefined ? undefined : modelKey(env, name, model);
  switch (provider) {
    case 'openai':
    case 'openrouter': {
      const known = HOSTED[provider];
      return {
        baseUrl: baseUrl ?? known.baseUrl,
        key: keyOf(named ?? known.keyName),
        limitName: known.limitName,
      };
    }
    case 'anthropic':
      return { baseUrl, key: keyOf(named ?? 'ANTHROPIC_API_KEY'), limitName: undefined };
    case 'openai-compatible':
      return { baseUrl, key: keyOf(named), limitName: 'max_tokens' };
    default:
      return { baseUrl, key: keyOf(named), limitName: undefined };
  }
}

/** The addresses of `openai` and `openrouter`, and the variables with their keys. */
export const hostedOf = (
  provider: ModelName['provider'],
): { baseUrl: string; keyName: string } | undefined =>
  provider === 'openai' || provider === 'openrouter' ? HOSTED[provider] : undefined;

/** Removes `/v1` from the address of an Anthropic API: both forms may be configured. */
export const anthropicAddress = (baseUrl: string): string => baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');

/** Reads a model's key; throws CONFIG_INVALID when its variable is not set. */
export function modelKey(env: ReadableEnv, name: string, model: string): string {
  const value = env.read(name);
  if (value) return value;
  const reason = `${model} needs a key in ${name}, which is not set; set it, or choose offline/runbook`;
  throw FleetError.ofKey('config.yaml model', reason);
}
