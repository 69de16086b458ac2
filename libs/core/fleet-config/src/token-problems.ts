import { type FieldError, isJsonObject } from '@hermes-fleet/protocol';
import { type Env, readVariable } from './token.ts';

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * The problems of the secrets that a fleet.yaml names, which need not be valid, so that a start reports them together with the
 * schema's problems; `path` is the key. The schema reports invalid variable names.
 */
export function tokenProblems(raw: unknown, env: Env): FieldError[] {
  const fleet = isJsonObject(raw) ? raw.fleet : undefined;
  return namedVariables(fleet, 'fleet').flatMap(({ path, variable }) => {
    const use = path.startsWith('fleet.server.') ? 'accepted' : 'shown';
    const found = readVariable(env, variable, path.endsWith('.token_env') ? use : undefined);
    return 'problem' in found ? [{ path, reason: found.problem }] : [];
  });
}

function namedVariables(value: unknown, path: string): { path: string; variable: string }[] {
  if (!isJsonObject(value)) return [];
  // Without authentication the callers' tokens are not read, and without push notifications their key is not.
  if (path === 'fleet.server' && value.auth_required === false) return [];
  if (path === 'fleet.push' && value.enabled === false) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const at = `${path}.${key}`;
    if (typeof item !== 'string') return namedVariables(item, at);
    return key.endsWith('_env') && VARIABLE.test(item) ? [{ path: at, variable: item }] : [];
  });
}
