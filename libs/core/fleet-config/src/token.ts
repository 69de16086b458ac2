import { hash } from 'node:crypto';
import { FleetError } from '@hermes-fleet/protocol';

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
