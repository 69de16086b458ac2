/** The providers whose address and key are known. */
const HOSTED = ['openai', 'openrouter'] as const;

export type ModelName =
  | { readonly provider: 'offline' }
  | { readonly provider: 'anthropic'; readonly name: string; readonly longContext: boolean }
  | { readonly provider: 'openai-compatible' | (typeof HOSTED)[number]; readonly name: string }
  /** A model of the package that `provider.package` names. */
  | { readonly provider: 'package'; readonly name: string };

/** Suffix that selects the long context window: `claude-opus-4-6[1m]`. */
const LONG_CONTEXT = /\[1m\]$/i;

/** Parses `model` of config.yaml. Undefined if the provider is unknown, unless `provider.package` names its code. */
export function parseModelName(model: string, hasPackage = false): ModelName | undefined {
  const slash = model.indexOf('/');
  const [provider, name] = [model.slice(0, slash), model.slice(slash + 1)];
  if (hasPackage) return slash < 1 || name === '' ? undefined : { provider: 'package', name };
  if (model === 'offline/runbook') return { provider: 'offline' };
  if (model.startsWith('claude-')) return parseModelName(`anthropic/${model}`);
  if (slash < 1 || name === '') return undefined;
  const known = (['openai-compatible', ...HOSTED] as const).find((each) => each === provider);
  if (known !== undefined) return { provider: known, name };
  if (provider !== 'anthropic') return undefined;
  return { provider, name: name.replace(LONG_CONTEXT, ''), longContext: LONG_CONTEXT.test(name) };
}

/** Checks a model's settings. Returns the key to change and the reason, or undefined if they are valid. */
export function modelProblem(model: string, baseUrl: string | undefined, hasPackage = false) {
  const parsed = parseModelName(model, hasPackage);
  if (parsed === undefined) {
    const known =
      'offline/runbook, anthropic/<name>, claude-<name>, openai/<name>, openrouter/<name> or openai-compatible/<name>';
    const use = hasPackage ? 'a word and the name at the provider, e.g. google/<name>' : known;
    const other = hasPackage ? '' : ', or name the package of another provider in provider.package';
    return { key: 'model', reason: `"${model}" names no model; use ${use}${other}` } as const;
  }
  if (hasUser(baseUrl)) {
    return {
      key: 'base_url',
      reason: 'must have no user or password; name the variable of the key in api_key_env, or set headers',
    } as const;
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

/** Such an address is not requested (`createClient`). */
function hasUser(address: string | undefined): boolean {
  const url = address === undefined ? null : URL.parse(address);
  return url !== null && (url.username !== '' || url.password !== '');
}
