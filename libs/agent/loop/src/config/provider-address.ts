import { FleetError } from '@hermes-fleet/protocol';
import type { AgentConfig } from './config-yaml.ts';
import type { ModelName } from './model-name.ts';

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

/** What config.yaml need not name: the address of a provider, the variable of its key, and the name of its limit. */
const KNOWN: Readonly<Record<ModelName['provider'], Partial<Endpoint> & { readonly keyName?: string }>> = {
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
  anthropic: { keyName: 'ANTHROPIC_API_KEY' },
  'openai-compatible': { limitName: 'max_tokens' },
  package: {},
  offline: {},
};

/** The endpoint that config.yaml or the provider names. Throws what `read` throws for the name of its key. */
export function endpointOf(
  { base_url: baseUrl, api_key_env: named }: Pick<AgentConfig, 'base_url' | 'api_key_env'>,
  { provider }: Pick<ModelName, 'provider'>,
  read: (name: string) => string | undefined,
): Endpoint {
  const known = KNOWN[provider];
  const keyName = named ?? known.keyName;
  const key = keyName === undefined ? undefined : read(keyName);
  return { baseUrl: baseUrl ?? known.baseUrl, key, limitName: known.limitName };
}

/** Removes `/v1` from the address of an Anthropic API: both forms may be configured. */
export const anthropicAddress = (baseUrl: string): string => baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');

/** Reads a model's key; throws CONFIG_INVALID when its variable is not set. */
export function modelKey(env: ReadableEnv, name: string, model: string): string {
  const value = env.read(name);
  if (value) return value;
  const reason = `${model} needs a key in ${name}, which is not set; set it, or choose offline/runbook`;
  throw FleetError.ofKey('config.yaml model', reason);
}
