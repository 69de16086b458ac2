import { createClient } from '@hermes-fleet/net';
import type { MeasuredModel } from '@hermes-fleet/protocol/ports';
import type { AgentConfig } from '../../config/config-yaml.ts';
import { type ModelName, parseModelName } from '../../config/model-name.ts';
import { anthropicAddress, endpointOf, type ReadableEnv } from '../../config/provider-address.ts';

const ANTHROPIC = 'https://api.anthropic.com';
const ANTHROPIC_VERSION = '2023-06-01';

/** The addresses of a model's provider that a probe asks. */
export interface ProbedModel {
  readonly provider: ModelName['provider'];
  readonly name: string;
  /** The address of the provider's API, without a slash at its end. */
  readonly api: string;
  /** Lists the models; costs nothing. */
  readonly listUrl: string;
  readonly callUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The reason, in a container, for which a server of the machine may not be reached at this address. */
  readonly unreachableHint?: string | undefined;
}

/** The provider of the configured model; undefined for `offline/runbook` and another package, whose API is not known. */
export function probedModel(config: AgentConfig, env: ReadableEnv): ProbedModel | undefined {
  const named = parseModelName(config.model, config.provider !== undefined);
  if (named === undefined || named.provider === 'offline' || named.provider === 'package') return undefined;
  const { provider, name } = named;
  const { baseUrl, key } = endpointOf(config, named, (variable) => env.read(variable));
  if (provider === 'anthropic') {
    const api = `${anthropicAddress(baseUrl ?? env.read('ANTHROPIC_BASE_URL') ?? ANTHROPIC)}/v1`;
    const headers = { 'x-api-key': key ?? '', 'anthropic-version': ANTHROPIC_VERSION, ...config.headers };
    const urls = { listUrl: `${api}/models?limit=1`, callUrl: `${api}/messages` };
    return { provider, name, api, ...urls, headers, unreachableHint: hintFor(api, env) };
  }
  if (baseUrl === undefined) return undefined;
  const api = baseUrl.replace(/\/+$/, '');
  return {
    provider,
    name,
    api,
    listUrl: `${api}/models`,
    callUrl: `${api}/chat/completions`,
    headers: { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...config.headers },
    unreachableHint: hintFor(api, env),
  };
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** HERMES_MACHINE_HOST is the name of the machine in a container (docs/configuration.md#model-servers). */
function hintFor(api: string, env: ReadableEnv): string | undefined {
  const machine = env.read('HERMES_MACHINE_HOST');
  if (machine === undefined || machine === '') return undefined;
  const { hostname } = new URL(api);
  if (LOOPBACK.test(hostname))
    return `its address is that of the container itself; if the server runs on this machine, name ${machine} in base_url`;
  return hostname === machine ? 'the server must listen on an address that containers reach' : undefined;
}

/**
 * Asks the provider for its models (docs/agent.md#model-health). Any answer but a server error proves that it can be
 * reached; one that has no such list answers 404. A list may need more rights than calls do, or be elsewhere: where it refuses
 * the key or redirects, an empty call, which no provider can carry out, tells whether calls work. Rejects with the signal's reason.
 */
export async function probeModel(
  model: ProbedModel,
  timeoutMs: number,
  ending?: AbortSignal,
): Promise<MeasuredModel> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = ending ? AbortSignal.any([ending, timeout]) : timeout;
  try {
    const listed = await statusOf(model.listUrl, { headers: model.headers, signal });
    if (!refusesCalls(listed)) return isServerError(listed) ? answered(listed) : REACHED;
    const called = await statusOf(model.callUrl, {
      method: 'POST',
      headers: { ...model.headers, 'content-type': 'application/json' },
      body: '{}',
      signal,
    });
    if (refusesCalls(called)) return answered(called);
    return { state: 'ok', detail: `answers calls; it answered ${listed} when asked for its models` };
  } catch (error) {
    ending?.throwIfAborted();
    if (timeout.aborted) return { state: 'timeout', detail: `no answer within ${timeoutMs / 1000} s` };
    return unreachable(model, codeOf(error));
  }
}

const REACHED: MeasuredModel = { state: 'ok', detail: 'answers' };

const refusesKey = (status: number): boolean => status === 401 || status === 403;

const isRedirect = (status: number): boolean => status >= 300 && status < 400;

/** The key is refused, or the calls are elsewhere. */
export const refusesCalls = (status: number): boolean => refusesKey(status) || isRedirect(status);

/** 501 says that the provider has no such method. */
export const isServerError = (status: number): boolean => status >= 500 && status !== 501;

export function answered(status: number): MeasuredModel {
  const hint = refusesKey(status) ? ': check its key in config.yaml' : '';
  const place = isRedirect(status)
    ? ', a redirect, which is not followed: correct base_url in config.yaml'
    : '';
  return { state: 'error', detail: `its provider answered ${status}${hint}${place}` };
}

export function unreachable({ unreachableHint }: ProbedModel, how: string): MeasuredModel {
  const hint = unreachableHint === undefined ? '' : `: ${unreachableHint}`;
  return { state: 'error', detail: `its provider could not be reached${how}${hint}` };
}

/** The system's error code only: the text of the error may contain an address with a password. */
function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
}

/** A redirect is an answer, and is not followed. */
export const ask = createClient('configured', { redirects: 'returned' });

async function statusOf(url: string, init: RequestInit): Promise<number> {
  const response = await ask(url, init);
  await response.body?.cancel();
  return response.status;
}
