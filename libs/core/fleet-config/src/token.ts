import { hash } from 'node:crypto';
import { type FieldError, FleetError, isJsonObject } from '@hermes-fleet/protocol';

/** In characters. */
const MIN_TOKEN_LENGTH = 16;

export type TokenUse = 'accepted' | 'shown';

const HASH = /^sha256:[0-9a-f]{64}$/i;

/** Where secrets are read from. */
export interface Env {
  read(name: string): string | undefined;
}

/** The value of a variable, or what is wrong with it; with `use`, it must be a token. */
export function readVariable(
  env: Env,
  variable: string,
  use?: TokenUse,
): { readonly value: string } | { readonly problem: string } {
  let value: string | undefined;
  try {
    value = env.read(variable);
  } catch (thrown) {
    if (!(thrown instanceof FleetError) || thrown.code !== 'CONFIG_INVALID') throw thrown;
    return { problem: thrown.message };
  }
  if (value === undefined || value === '')
    return {
      problem: `${variable} is not set: export it, or put its value in the file that ${variable}_FILE names`,
    };
  const problem = use && tokenProblem(value, use);
  return problem === undefined ? { value } : { problem: `${variable} ${problem}` };
}

/** Describes the problem of an invalid token, without its value. */
function tokenProblem(value: string, use: TokenUse): string | undefined {
  if (value.length < MIN_TOKEN_LENGTH)
    return `is shorter than ${MIN_TOKEN_LENGTH} characters: use a longer token`;
  if (!/^[\x21-\x7e]+$/.test(value))
    return 'has characters that no header can carry: use printable ASCII without white space';
  if (!value.startsWith('sha256:')) return undefined;
  if (use === 'shown')
    return 'holds a hash, which is only for tokens that are accepted: give the token itself';
  return HASH.test(value) ? undefined : 'is not "sha256:" and 64 hex digits: give the token or its hash';
}

/** The hash of a token that is given in plain text or as its hash. */
export function tokenDigest(token: string): string {
  return HASH.test(token) ? token.toLowerCase() : `sha256:${hash('sha256', token)}`;
}

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
