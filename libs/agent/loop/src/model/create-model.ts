import type { LanguageModelV4 } from '@ai-sdk/provider';
import { FleetError } from '@hermes-fleet/protocol';
import { type Log, type ModelInfo, silentLog } from '@hermes-fleet/protocol/ports';
import { type AgentConfig, fallbackConfigs } from '../config/config-yaml.ts';
import { type ModelName, parseModelName } from '../config/model-name.ts';
import { createModelWindow, type ModelWindow } from '../config/model-window.ts';
import {
  anthropicAddress,
  type Endpoint,
  endpointOf,
  modelKey,
  type ReadableEnv,
} from '../config/provider-address.ts';
import { withPortablePrompt } from '../messages/portable-prompt.ts';
import { withPromptCache } from '../messages/prompt-cache.ts';
import { loggable } from '../messages/redact.ts';
import { secretsOf, withoutSecrets } from '../messages/secrets.ts';
import { withSeparateThinking } from '../messages/separate-thinking.ts';
import { createRunbookModel } from '../runbook/runbook-model.ts';
import { type AgentModel, patienceOf, withFallbacks } from './call/agent-model.ts';
import type { CallMeasurement } from './call/measured-call.ts';
import { type ModelCalls, observedFetch } from './call/model-calls.ts';
import { chatAnswerFetch } from './chat/chat-answer.ts';
import { chatRequestFetch } from './chat/chat-request.ts';
import { openRouterModel } from './provider/openrouter-model.ts';
import { providerFetch } from './provider/provider-fetch.ts';
import { packageModel } from './provider/provider-package.ts';

export type { AgentModel } from './call/agent-model.ts';

export interface ModelDependencies {
  /** Read at every use, because the window may become known later; default: what is known without the provider. */
  readonly window?: ModelWindow | undefined;
  readonly calls?: ModelCalls | undefined;
  /** Learns how long calls take, also those of fallbacks and of `offline/runbook`. */
  readonly measurement?: CallMeasurement | undefined;
  readonly log?: Log | undefined;
  /** The same for each of `fallback_models`. */
  readonly others?: readonly Pick<ModelDependencies, 'window' | 'calls'>[] | undefined;
}

/**
 * The model of config.yaml with its fallbacks; loads its provider's code only. Throws CONFIG_INVALID without key or code.
 */
export async function createModel(
  config: AgentConfig,
  tier: string,
  env: ReadableEnv,
  { others = [], measurement, log, ...own }: ModelDependencies = {},
): Promise<AgentModel> {
  const first = await createOne(config, tier, env, { ...own, measurement, log });
  const fallbacks = fallbackConfigs(config).map((other, index) =>
    createOne(other, tier, env, { ...others[index], measurement, log }),
  );
  return withFallbacks(first, await Promise.all(fallbacks));
}

async function createOne(
  config: AgentConfig,
  tier: string,
  env: ReadableEnv,
  { calls, measurement, log = silentLog, ...rest }: ModelDependencies,
): Promise<AgentModel> {
  const named = parseModelName(config.model, config.provider !== undefined);
  if (named === undefined) throw FleetError.ofKey('config.yaml model', `"${config.model}" names no model`);
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
  if (named.provider === 'offline')
    return { model: createRunbookModel(), info, usageSource: 'estimated', measurement };
  const endpoint = endpointOf(config, named, (name) => modelKey(env, name, config.model));
  const secrets = secretsOf(config, endpoint.key);
  const remote = await remoteModel(config, named, endpoint, env, { calls, log, secrets });
  return {
    model: withPortablePrompt(withSeparateThinking(remote)),
    secrets,
    info,
    usageSource: 'metered',
    calls,
    measurement,
    patience: patienceOf(config.model_calls),
    refusedTools: new Set(),
    settings: {
      ...(config.temperature !== undefined && { temperature: config.temperature }),
      ...(config.effort !== undefined && { reasoning: config.effort }),
    },
  };
}

type RemoteName = Exclude<ModelName, { provider: 'offline' }>;

async function remoteModel(
  config: AgentConfig,
  named: RemoteName,
  endpoint: Endpoint,
  env: ReadableEnv,
  { calls, log, secrets }: { calls: ModelCalls | undefined; log: Log; secrets: readonly string[] },
): Promise<LanguageModelV4> {
  const { headers } = config;
  const direct = providerFetch(patienceOf(config.model_calls));
  const isChat = named.provider !== 'package' && named.provider !== 'anthropic';
  const answered = isChat ? chatAnswerFetch(direct, { log, secrets }) : direct;
  const observed = calls === undefined ? answered : observedFetch(answered, calls);
  const send = chatRequestFetch(observed, {
    extra: config.extra_body,
    limitName: endpoint.limitName,
    onLearnt: (sent, said) =>
      log.warn(
        { model: config.model, sent, reason: loggable(withoutSecrets(said, secrets)) },
        "the model's provider refuses parameters: calls are sent otherwise from now on",
      ),
  });
  if (named.provider === 'package') {
    const { baseUrl: baseURL, key: apiKey } = endpoint;
    const settings = {
      ...config.provider?.options,
      ...(baseURL !== undefined && { baseURL }),
      ...(apiKey !== undefined && { apiKey }),
      ...(Object.keys(headers).length > 0 && { headers }),
      fetch: send,
    };
    const { package: code = '', factory } = config.provider ?? {};
    return packageModel({ package: code, factory, name: named.name, settings }, env);
  }
  if (named.provider === 'anthropic') {
    const beta: Record<string, string> = named.longContext
      ? { 'anthropic-beta': 'context-1m-2025-08-07' }
      : {};
    const address =
      endpoint.baseUrl === undefined ? {} : { baseURL: `${anthropicAddress(endpoint.baseUrl)}/v1` };
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    const { key: apiKey = '' } = endpoint;
    const model = createAnthropic({ apiKey, ...address, headers: { ...beta, ...headers }, fetch: send })(
      named.name,
    );
    return config.prompt_cache ? withPromptCache(model) : model;
  }
  const settings = {
    baseURL: endpoint.baseUrl ?? '',
    ...(endpoint.key !== undefined && { apiKey: endpoint.key }),
    headers,
  };
  if (named.provider === 'openrouter') return openRouterModel(named.name, settings, send);
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const provider = createOpenAICompatible({
    ...settings,
    name: named.provider,
    fetch: send,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
  return provider(named.name);
}
