export type ModelName =
  | { readonly provider: 'offline' }
  | { readonly provider: 'anthropic'; readonly name: string; readonly longContext: boolean }
  | { readonly provider: 'openai-compatible'; readonly name: string };

/** Suffix that selects the long context window: `claude-opus-4-6[1m]`. */
const LONG_CONTEXT = /\[1m\]$/i;

/** Parses `model` of config.yaml. Undefined if the provider is unknown. */
export function parseModelName(model: string): ModelName | undefined {
  if (model === 'offline/runbook') return { provider: 'offline' };
  const full = model.startsWith('claude-') ? `anthropic/${model}` : model;
  const slash = full.indexOf('/');
  const [provider, name] = [full.slice(0, slash), full.slice(slash + 1)];
  if (slash < 1 || name === '') return undefined;
  if (provider === 'openai-compatible') return { provider, name };
  if (provider !== 'anthropic') return undefined;
  return { provider, name: name.replace(LONG_CONTEXT, ''), longContext: LONG_CONTEXT.test(name) };
}

/** Checks a model's settings. Returns the key to change and the reason, or undefined if they are valid. */
export function modelProblem(model: string, baseUrl: string | undefined) {
  const parsed = parseModelName(model);
  if (parsed === undefined) {
    const known = 'offline/runbook, anthropic/<name>, claude-<name> or openai-compatible/<name>';
    return { key: 'model', reason: `"${model}" names no model; use ${known}` } as const;
  }
  if (parsed.provider === 'openai-compatible' && baseUrl === undefined) {
    return {
      key: 'base_url',
      reason: `is required by ${model}: the address of its API, e.g. http://127.0.0.1:8000/v1`,
    } as const;
  }
  if (parsed.provider === 'offline' && baseUrl !== undefined) {
    return {
      key: 'base_url',
      reason: 'is set, but offline/runbook makes no requests; name a model or remove it',
    } as const;
  }
  return undefined;
}
