import { z } from 'zod';
import type { ModelWindow, StatedWindow } from './model-window.ts';
import type { ProbedModel } from './probe-model.ts';

/** A longer answer is not read: the list of a large provider has about one megabyte. */
const MAX_BYTES = 8 * 1024 * 1024;

type Asked = Pick<ProbedModel, 'provider' | 'name' | 'api' | 'headers'>;

/**
 * Asks a model's provider for the model's window (docs/agent.md#context-window); costs no token. Resolves with undefined
 * if the provider states none, or gives no readable answer. Rejects when it cannot be reached, and with the signal's
 * reason.
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

/**
 * Asks for a window that is open, and records the answer; a provider that gives none in time leaves it open. Returns true
 * when the number of tokens has changed. Never rejects.
 */
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

const Count = z.int().positive();
const Entry = z.looseObject({ id: z.string().optional() });
const List = z.object({ data: z.array(Entry) });

/** The entry of a model in a provider's list; the only one, whatever its name, since a server of one model may ignore it. */
function entryOf(list: unknown, name: string): unknown {
  const entries = List.safeParse(list).data?.data ?? [];
  const plain = name.replace(/:[\w-]+$/, '');
  return (
    entries.find(({ id }) => id === name) ??
    entries.find(({ id }) => id === plain) ??
    (entries.length === 1 ? entries[0] : undefined)
  );
}

/**
 * The names of the window in a model's entry: vLLM and SGLang; OpenRouter and Together; Groq; Mistral; Anthropic. The
 * API of LM Studio has `max_context_length` too, and is asked elsewhere.
 */
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
  const fields = z.looseObject({}).safeParse(entry).data;
  const top = TopProvider.safeParse(entry).data?.top_provider.context_length;
  for (const field of FIELDS) {
    const tokens = Count.safeParse(fields?.[field]).data;
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

const Running = z.object({
  models: z.array(
    z.looseObject({
      name: z.string().optional(),
      model: z.string().optional(),
      context_length: Count.optional(),
    }),
  ),
});
const Shown = z.object({ parameters: z.string().optional(), model_info: z.looseObject({}).optional() });

/**
 * https://docs.ollama.com/api: the window of a loaded model, else that of its Modelfile. The
 * window that a model can have says little: Ollama loads it with less, by the memory of the machine, and cuts prompts.
 */
async function askOllama(root: string, name: string, ask: Ask): Promise<StatedWindow | undefined> {
  const running = Running.safeParse(await ask(`${root}/api/ps`)).data;
  if (running === undefined) return undefined;
  const names = new Set([name, `${name}:latest`]);
  const loaded = running.models.find(({ name: a = '', model: b = '' }) => names.has(a) || names.has(b));
  if (loaded?.context_length !== undefined) return stated('context_length', loaded.context_length);
  const shown = Shown.safeParse(await ask(`${root}/api/show`, { model: name })).data;
  const set = /^\s*num_ctx\s+(\d+)\s*$/m.exec(shown?.parameters ?? '')?.[1];
  if (set !== undefined) return stated('num_ctx', Number(set));
  const most = Object.entries(shown?.model_info ?? {}).find(([key]) => key.endsWith('.context_length'));
  const tokens = Count.safeParse(most?.[1]).data;
  return tokens === undefined ? undefined : atMost('context_length', tokens);
}

const Loadable = z.object({ loaded_context_length: Count.optional(), max_context_length: Count.optional() });

/** https://lmstudio.ai/docs/developer/rest: a model that is not loaded has only its greatest window. */
async function askLmStudio(root: string, name: string, ask: Ask): Promise<StatedWindow | undefined> {
  const entry = Loadable.safeParse(entryOf(await ask(`${root}/api/v0/models`), name)).data;
  if (entry?.loaded_context_length !== undefined)
    return stated('loaded_context_length', entry.loaded_context_length);
  return entry?.max_context_length === undefined
    ? undefined
    : atMost('max_context_length', entry.max_context_length);
}

/** Undefined for an answer that is not successful, too long, or not JSON. */
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
  const response = await fetch(url, { headers, signal, redirect: 'manual', ...post });
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    return undefined;
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  }
}
