import { join } from 'node:path';
import { createA2AClient } from '@hermes-fleet/a2a';
import {
  type Credentials,
  examineFleet,
  type Finding,
  type FleetConfig,
  FleetConfigSchema,
  resolveTokens,
} from '@hermes-fleet/fleet';
import {
  systemClock as clock,
  FleetError,
  HANDSHAKE_EXTENSION,
  systemIds as ids,
  type Log,
  PROTOCOL_VERSIONS,
} from '@hermes-fleet/protocol';
import { createSecretEnv, loadYamlConfig, type SecretEnv } from '@hermes-fleet/service';
import { readConfiguration } from './configuration.ts';
import type { Environment } from './environment.ts';

const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** What `--doctor` prints, as one line of JSON. */
export interface Report {
  readonly profile: string;
  /** False when a check failed. */
  readonly ok: boolean;
  readonly findings: readonly Finding[];
}

interface Readable {
  readonly config: FleetConfig;
  readonly credentials: Credentials;
}

/**
 * The checks of a start and live ones, all problems at once (design 2, fleet.yaml). It never listens, opens no ledger
 * and takes no ownership, so it may run beside the profile's gateway; it writes no file and spends no token.
 */
export async function examineProfile(
  environment: Environment,
  processEnv: NodeJS.ProcessEnv,
): Promise<Report> {
  const env = createSecretEnv(processEnv);
  const { profile } = environment;
  const { findings, readable } = examineConfiguration(environment, env);
  const live = readable
    ? await examineFleet({
        ...{ profile, ...readable, versions: PROTOCOL_VERSIONS, clock, ids },
        client: createA2AClient({ clock, log: silent, extensions: [HANDSHAKE_EXTENSION] }),
      })
    : [];
  const all = [...findings, ...live];
  return { profile, ok: all.every(({ state }) => state !== 'failed'), findings: all };
}

const about = (check: string, state: Finding['state'], detail: string): Finding => ({
  ...{ subject: 'configuration', check, state, detail },
});

/** What a start would say of the files; peers can be looked at as soon as fleet.yaml alone is readable. */
function examineConfiguration(
  environment: Environment,
  env: SecretEnv,
): { findings: readonly Finding[]; readable: Readable | undefined } {
  try {
    const { fleet, credentials, warnings } = readConfiguration(environment, env);
    const fine = about('files', 'ok', `fleet.yaml, config.yaml and IDENTITY.md in ${environment.profileDir}`);
    const found = warnings.map((warning) => about('fleet.yaml', 'warning', warning));
    return { findings: [fine, ...found], readable: { config: fleet, credentials } };
  } catch (thrown) {
    const { fields, message } = configurationError(thrown);
    const failed = fields.map(({ path, reason }) => about(path, 'failed', reason));
    const readable = readFleet(environment, env);
    const skipped = readable
      ? []
      : [about('live checks', 'skipped', 'not tried: fleet.yaml must be right before peers can be asked')];
    const findings = failed.length > 0 ? failed : [about('files', 'failed', message)];
    return { findings: [...findings, ...skipped], readable };
  }
}

function readFleet({ profileDir }: Environment, env: SecretEnv): Readable | undefined {
  try {
    const file = join(profileDir, 'fleet.yaml');
    const { value: config } = loadYamlConfig({ file, schema: FleetConfigSchema, env });
    return { config, credentials: resolveTokens(config, env) };
  } catch (thrown) {
    configurationError(thrown);
    return undefined;
  }
}

/** The error, when it is about the configuration; anything else is a defect and goes on. */
function configurationError(thrown: unknown): FleetError {
  if (thrown instanceof FleetError && thrown.code === 'CONFIG_INVALID') return thrown;
  throw thrown;
}
