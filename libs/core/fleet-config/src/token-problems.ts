import { type FieldError, isJsonObject } from '@hermes-fleet/protocol';
import { readVariable, tokenProblem } from './token.ts';

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Reports the token problems of an invalid fleet.yaml, so that a start reports them together with the schema's problems;
 * `path` is the key. The schema reports invalid variable names.
 */
export function tokenProblems(raw: unknown, env: { read(name: string): string | undefined }): FieldError[] {
  const fleet = isJsonObject(raw) ? raw.fleet : undefined;
  return namedVariables(fleet, 'fleet').flatMap(({ path, variable }) => {
    const found = readVariable(env, variable);
    if ('problem' in found) return [{ path, reason: found.problem }];
    if (!path.endsWith('.token_env')) return [];
    const use = path.startsWith('fleet.server.') ? 'accepted' : 'shown';
    const problem = tokenProblem(found.value, use);
    return problem === undefined ? [] : [{ path, reason: `${variable} ${problem}` }];
  });
}

function namedVariables(value: unknown, path: string): { path: string; variable: string }[] {
  if (!isJsonObject(value)) return [];
  // Without authentication the callers' tokens are not read.
  if (path === 'fleet.server' && value.auth_required === false) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const at = `${path}.${key}`;
    if (typeof item !== 'string') return namedVariables(item, at);
    return key.endsWith('_env') && VARIABLE.test(item) ? [{ path: at, variable: item }] : [];
  });
}
