import { join } from 'node:path';
import { createA2AClient } from '@hermes-fleet/a2a';
import { examineFleet, type Finding } from '@hermes-fleet/fleet';
import {
  type Credentials,
  type FleetConfig,
  FleetConfigSchema,
  resolveTokens,
} from '@hermes-fleet/fleet-config';
import {
  systemClock as clock,
  FleetError,
  HANDSHAKE_EXTENSION,
  systemIds as ids,
  PROTOCOL_VERSIONS,
  silentLog,
} from '@hermes-fleet/protocol';
import { loadYamlConfig, type SecretEnv } from '@hermes-fleet/service';
import type { MemberConfiguration } from './configuration.ts';
import type { MemberEnvironment } from './environment.ts';

/** The output of `--doctor`, printed as one line of JSON. */
export interface DoctorReport {
  readonly profile: string;
  /** False when a check failed. */
  readonly ok: boolean;
  readonly findings: readonly Finding[];
}

export interface ExamineMemberOptions {
  readonly environment: MemberEnvironment;
  readonly env: SecretEnv;
  /** The names of the files that it reads, for the report. */
  readonly files: string;
  /** Reads the files as a start does; throws CONFIG_INVALID. */
  read(): Pick<MemberConfiguration, 'fleet' | 'credentials' | 'warnings'>;
}

interface Readable {
  readonly config: FleetConfig;
  readonly credentials: Credentials;
}

/**
 * Checks the configuration as a start does, then the peers, and reports all problems at once
 * (docs/operations.md). It neither listens nor takes ownership nor opens state files, so it
 * may run beside the member itself. It writes no file and spends no token.
 */
export async function examineMember(options: ExamineMemberOptions): Promise<DoctorReport> {
  const { name: profile } = options.environment;
  const { findings, readable } = examineConfiguration(options);
  const live = readable
    ? await examineFleet({
        profile,
        ...readable,
        versions: PROTOCOL_VERSIONS,
        clock,
        ids,
        client: createA2AClient({ clock, log: silentLog, extensions: [HANDSHAKE_EXTENSION] }),
      })
    : [];
  const all = [...findings, ...live];
  return { profile, ok: all.every(({ state }) => state !== 'failed'), findings: all };
}

const finding = (check: string, state: Finding['state'], detail: string): Finding => ({
  subject: 'configuration',
  check,
  state,
  detail,
});

/** The configuration errors of a start. Peers can be examined as soon as fleet.yaml alone is valid. */
function examineConfiguration(options: ExamineMemberOptions): {
  findings: readonly Finding[];
  readable: Readable | undefined;
} {
  try {
    const { fleet, credentials, warnings } = options.read();
    const files = finding('files', 'ok', `${options.files} in ${options.environment.dir}`);
    const found = warnings.map((warning) => finding('fleet.yaml', 'warning', warning));
    return { findings: [files, ...found], readable: { config: fleet, credentials } };
  } catch (thrown) {
    const { fields, message } = configurationError(thrown);
    const failed = fields.map(({ path, reason }) => finding(path, 'failed', reason));
    const readable = readFleet(options);
    const skipped = readable
      ? []
      : [finding('live checks', 'skipped', 'not tried: fleet.yaml must be valid before peers can be asked')];
    const findings = failed.length > 0 ? failed : [finding('files', 'failed', message)];
    return { findings: [...findings, ...skipped], readable };
  }
}

function readFleet({ environment, env }: ExamineMemberOptions): Readable | undefined {
  try {
    const file = join(environment.dir, 'fleet.yaml');
    const { value: config } = loadYamlConfig({ file, schema: FleetConfigSchema, env });
    return { config, credentials: resolveTokens(config, env) };
  } catch (thrown) {
    configurationError(thrown);
    return undefined;
  }
}

/** Returns a configuration error and rethrows any other, which is a defect. */
function configurationError(thrown: unknown): FleetError {
  if (thrown instanceof FleetError && thrown.code === 'CONFIG_INVALID') return thrown;
  throw thrown;
}
