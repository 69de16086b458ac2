import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { acceptedVariables, type FleetConfig, FleetConfigSchema } from '@hermes-fleet/fleet';
import { FleetError } from '@hermes-fleet/protocol';
import { loadYamlConfig, type SecretEnv } from '@hermes-fleet/service';

/** Neighbours that are looked at. */
const MAX_SIBLINGS = 200;

/**
 * Warns of token variables that this profile and another one of the same HERMES_HOME both accept, and whose value comes
 * from the process's environment: started from one environment, each would take the callers of the other for its own
 * (design 2, fleet.yaml). A value from HERMES_KEYS_DIR is each profile's own. Siblings that can't be read are left out.
 */
export function sharedWithSiblings(o: {
  readonly profileDir: string;
  readonly config: FleetConfig;
  readonly env: SecretEnv;
  readonly processEnv: NodeJS.ProcessEnv;
}): string[] {
  const isSet = (variable: string): boolean =>
    [variable, `${variable}_FILE`].some((name) => (o.processEnv[name] ?? '').trim() !== '');
  const own = acceptedVariables(o.config).filter(({ variable }) => isSet(variable));
  if (own.length === 0) return [];
  const siblings = siblingsOf(o.profileDir).map((dir) => ({
    name: basename(dir),
    accepts: acceptedBy(join(dir, 'fleet.yaml'), o.env),
  }));
  return own.flatMap(({ path, variable }) => {
    const others = siblings.filter(({ accepts }) => accepts.has(variable)).map(({ name }) => name);
    return others.length === 0 ? [] : [warningOf(path, variable, others)];
  });
}

function warningOf(path: string, variable: string, others: readonly string[]): string {
  const who = others.length === 1 ? `profile ${others[0]} accepts` : `profiles ${others.join(', ')} accept`;
  return (
    `${path}: ${variable} comes from the environment, and ${who} it too: on one host a caller of one is a caller of ` +
    'the other; use a name for each profile, such as A2A_HERMES_TOKEN_NEO, or HERMES_KEYS_DIR'
  );
}

function siblingsOf(profileDir: string): string[] {
  const home = dirname(profileDir);
  try {
    return readdirSync(home)
      .filter((name) => name !== basename(profileDir))
      .sort()
      .slice(0, MAX_SIBLINGS)
      .map((name) => join(home, name));
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
