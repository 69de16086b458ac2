import { type FieldError, FleetError, isJsonObject } from '@hermes-fleet/protocol';
import type { SecretEnv } from '@hermes-fleet/service';

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * What is wrong with the tokens that a config.yaml names for registered A2A agents; `path` is the key. It reads the raw
 * file too, so that a start tells of wrong keys and of missing tokens at once. Said without showing a token.
 */
export function agentTokenProblems(config: unknown, env: SecretEnv): FieldError[] {
  const a2a = isJsonObject(config) ? config.a2a : undefined;
  if (!isJsonObject(a2a) || a2a.enabled === false || !isJsonObject(a2a.agents)) return [];
  return Object.entries(a2a.agents).flatMap(([name, agent]) => {
    const variable = isJsonObject(agent) ? agent.token_env : undefined;
    if (typeof variable !== 'string') return [];
    const reason = VARIABLE.test(variable)
      ? problemOf(variable, env)
      : 'must be the name of an environment variable, not the token itself';
    return reason === undefined ? [] : [{ path: `a2a.agents.${name}.token_env`, reason }];
  });
}

function problemOf(variable: string, env: SecretEnv): string | undefined {
  try {
    const token = env.read(variable);
    if (token === undefined)
      return `${variable} is not set: export it, or put its value in the file that ${variable}_FILE names`;
    if (/^[\x21-\x7e]+$/.test(token)) return undefined;
    return `${variable} has characters that no header can carry: use printable ASCII without white space`;
  } catch (thrown) {
    if (thrown instanceof FleetError && thrown.code === 'CONFIG_INVALID') return thrown.message;
    throw thrown;
  }
}
