import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { acceptedVariables, type FleetConfig, FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { FleetError } from '@hermes-fleet/protocol';
import { loadYamlConfig, type SecretEnv } from '@hermes-fleet/service';
import { type MemberEnvironment, profilesDir, traderDir } from './environment.ts';

const MAX_SIBLINGS = 200;

/**
 * Warns of token variables that this member and another member of the same HERMES_HOME both accept, and whose values
 * come from the process's environment: members that share an environment would then accept each other's callers
 * (docs/configuration.md#fleetyaml). Values from HERMES_KEYS_DIR are separate for each member. Unreadable siblings are
 * ignored.
 */
export function sharedWithSiblings(options: {
  readonly environment: Pick<MemberEnvironment, 'home' | 'dir'>;
  readonly config: FleetConfig;
  readonly env: SecretEnv;
  readonly processEnv: NodeJS.ProcessEnv;
}): string[] {
  const isSet = (variable: string): boolean =>
    [variable, `${variable}_FILE`].some((name) => (options.processEnv[name] ?? '').trim() !== '');
  const own = acceptedVariables(options.config).filter(({ variable }) => isSet(variable));
  if (own.length === 0) return [];
  const siblings = siblingsOf(options.environment).map((dir) => ({
    name: basename(dir),
    accepts: acceptedBy(join(dir, 'fleet.yaml'), options.env),
  }));
  return own.flatMap(({ path, variable }) => {
    const others = siblings.filter(({ accepts }) => accepts.has(variable)).map(({ name }) => name);
    return others.length === 0 ? [] : [warningOf(path, variable, others)];
  });
}

function warningOf(path: string, variable: string, others: readonly string[]): string {
  const siblings = `${others.join(', ')} ${others.length === 1 ? 'accepts' : 'accept'}`;
  return (
    `${path}: ${variable} comes from the environment, and ${siblings} it too: on one host a caller of one is a caller of ` +
    'the other; use a name for each, such as A2A_HERMES_TOKEN_NEO, or HERMES_KEYS_DIR'
  );
}

function siblingsOf({ home, dir }: Pick<MemberEnvironment, 'home' | 'dir'>): string[] {
  const profiles = namesIn(profilesDir(home)).map((name) => join(profilesDir(home), name));
  return [...profiles, traderDir(home)].filter((other) => other !== dir);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort().slice(0, MAX_SIBLINGS);
  } catch {
    return [];
  }
}

function acceptedBy(file: string, env: SecretEnv): ReadonlySet<string> {
  try {
    const { value } = loadYamlConfig({ file, schema: FleetConfigSchema, env });
    return new Set(acceptedVariables(value).map(({ variable }) => variable));
  } catch (thrown) {
    if (thrown instanceof FleetError && thrown.code === 'CONFIG_INVALID') return new Set();
    throw thrown;
  }
}
