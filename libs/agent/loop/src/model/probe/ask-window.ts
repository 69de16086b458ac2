import { isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { ModelWindow, StatedWindow } from '../../config/model-window.ts';
import { type ProbedModel, ask as send } from './probe-model.ts';

/** A longer answer is not read: the list of a large provider has about one megabyte. */
const MAX_BYTES = 4 * 1024 * 1024;
/** A longer list, or a longer Modelfile, has no window for us: searching it would take too long. */
const MAX_ENTRIES = 20_000;
const MAX_PARAMETERS_CHARS = 65_536;

type Asked = Pick<ProbedModel, 'provider' | 'name' | 'api' | 'headers'>;

/**
 * Asks a provider for the model's window, for no token (docs/agent.md#context-window). Undefined if it states none. Rejects
 * when it cannot be reached or is busy, and with the signal's reason.
 */
export async function askWindow(model: Asked, signal: AbortSignal): Promise<StatedWindow | undefined> {
  const ask = (url: string, body?: object): Promise<unknown> => readJson(url, model.headers, signal, body);
  if (model.provider === 'anthropic') {
    return statedIn(await ask(`${model.api}/models/${encodeURIComponent(model.name)}`));
  }
  const listed = entryOf(await ask(`${model.api}/models`), model.name);
  const stated = statedIn(listed);
  if (stated !== undefined || model.provider !== 'openai-compatible') return stated;
  const root = model.api.replace(/\/v1$/, '');
  return (
    (await askLlamaCpp(root, ask)) ??
    (await askOllama(root, model.name, ask)) ??
    askLmStudio(root, model.name, ask)
  );
}

/** Asks for a window that is open, and records the answer, if one comes in time. True when it changed. Never rejects. */
export async function learnWindow(
  model: Asked,
  window: ModelWindow,
  timeoutMs: number,
  ending?: AbortSignal,
): Promise<boolean> {
  if (!window.isOpen()) return false;
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = ending ? AbortSignal.any([ending, timeout]) : timeout;
  try {
    return window.learn(await askWindow(model, signal));
  } catch {
    return false;
  }
}

type Ask = (url: string, body?: object) => Promise<unknown>;

/** A figure outside these bounds is a mistake of the server, or its way to say that it does not know. */
const Count = z.int().min(1_000).max(100_000_000);

/** The entries of a list, checked by hand, because it may have thousands. */
function objectsIn(list: unknown, key: 'data' | 'models'): readonly JsonObject[] | undefined {
  const entries = isJsonObject(list) ? list[key] : undefined;
  if (!Array.isArray(entries) || entries.length > MAX_ENTRIES) return undefined;
  return entries.filter(isJsonObject);
}

/** The entry of a model in a provider's list; the only one, whatever its name, since a server of one model may ignore it. */
function entryOf(list: unknown, name: string): JsonObject | undefined {
  const entries = objectsIn(list, 'data') ?? [];
  const plain = name.replace(/:[\w-]+$/, '');
  return (
    entries.find(({ id }) => id === name) ??
    entries.find(({ id }) => id === plain) ??
    (entries.length === 1 ? entries[0] : undefined)
  );
}

/** Of vLLM and SGLang; OpenRouter and Together; Groq; Mistral; Anthropic. LM Studio's API is asked elsewhere. */
const FIELDS = [
  'max_model_len',
  'context_length',
  'context_window',
  'max_context_length',
  'max_input_tokens',
] as const;
/** OpenRouter: the host that it prefers may give a model less than the model can have. */
const TopProvider = z.object({ top_provider: z.object({ context_length: Count }) });

function statedIn(entry: unknown): StatedWindow | undefined {
  if (!isJsonObject(entry)) return undefined;
  const top = TopProvider.safeParse(entry).data?.top_provider.context_length;
  for (const field of FIELDS) {
    const tokens = Count.safeParse(entry[field]).data;
    if (tokens !== undefined) return stated(field, Math.min(tokens, top ?? tokens));
  }
  return undefined;
}

const stated = (field: string, tokens: number): StatedWindow => ({ field, tokens, isUpperBound: false });
const atMost = (field: string, tokens: number): StatedWindow => ({ field, tokens, isUpperBound: true });

const Props = z.object({ default_generation_settings: z.object({ n_ctx: Count }) });

/** https://github.com/ggml-org/llama.cpp/tree/master/tools/server: what one slot of the server has. */
async function askLlamaCpp(root: string, ask: Ask): Promise<StatedWindow | undefined> {
  const props = Props.safeParse(await ask(`${root}/props`)).data;
  return props && stated('n_ctx', props.default_generation_settings.n_ctx);
}

const Shown = z.object({ parameters: z.string().optional(), model_info: z.unknown().optional() });

/** https://docs.ollama.com/api: the window of a loaded model, else of its Modelfile: Ollama loads less than it can have. */
async function askOllama(root: string, name: string, ask: Ask): Promise<StatedWindow | undefined> {
  const running = objectsIn(await ask(`${root}/api/ps`), 'models');
  if (running === undefined) return undefined;
  const names: unknown[] = [name, `${name}:latest`];
  const loaded = running.find((each) => names.includes(each.name) || names.includes(each.model));
  const now = Count.safeParse(loaded?.context_length).data;
  if (now !== undefined) return stated('context_length', now);
  const shown = Shown.safeParse(await ask(`${root}/api/show`, { model: name })).data;
  const set = numCtx(shown?.parameters ?? '');
  if (set !== undefined) return stated('num_ctx', set);
  const info = isJsonObject(shown?.model_info) ? shown.model_info : {};
  const most = Object.entries(info).find(([key]) => key.endsWith('.context_length'));
  const tokens = Count.safeParse(most?.[1]).data;
  return tokens === undefined ? undefined : atMost('context_length', tokens);
}

/** The window that the parameters of a Modelfile set, one parameter a line. */
function numCtx(parameters: string): number | undefined {
  for (const line of parameters.slice(0, MAX_PARAMETERS_CHARS).split('\n')) {
    const [name, value] = line.trim().split(/\s+/, 2);
    if (name === 'num_ctx') return Count.safeParse(Number(value)).data;
  }
  return undefined;
}

const Loadable = z.object({
  loaded_context_length: Count.optional().catch(undefined),
  max_context_length: Count.optional().catch(undefined),
});

/** https://lmstudio.ai/docs/developer/rest: a model that is not loaded has only its greatest window. */
async function askLmStudio(root: string, name: string, ask: Ask): Promise<StatedWindow | undefined> {
  const entry = Loadable.safeParse(entryOf(await ask(`${root}/api/v0/models`), name)).data;
  if (entry?.loaded_context_length !== undefined)
    return stated('loaded_context_length', entry.loaded_context_length);
  return entry?.max_context_length === undefined
    ? undefined
    : atMost('max_context_length', entry.max_context_length);
}

/** The provider may answer in a moment. */
const isBusy = (status: number): boolean =>
  [408, 425, 429].includes(status) || (status >= 500 && status !== 501);

/** Undefined for an answer that is not successful, too long, or not JSON. Rejects while the provider is busy. */
async function readJson(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  body?: object,
): Promise<unknown> {
  const post = body && {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  const response = await send(url, { headers, signal, ...post });
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    if (isBusy(response.status)) throw new Error(`the provider answered ${response.status}`);
    return undefined;
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  return parseJson(Buffer.concat(chunks).toString('utf8'));
}
