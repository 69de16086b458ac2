import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Credentials,
  type FleetConfig,
  FleetConfigSchema,
  resolveTokens,
  tokenProblems,
} from '@hermes-fleet/fleet-config';
import { type FieldError, FleetError } from '@hermes-fleet/protocol';
import { interpolate, loadYamlConfig, type SecretEnv, type YamlConfig } from '@hermes-fleet/service';
import { z } from 'zod';
import { type Certificates, readCertificates } from './certificates.ts';
import type { MemberEnvironment } from './environment.ts';
import type { Problems } from './problems.ts';
import { sharedWithSiblings } from './siblings.ts';

/** Reads fleet.yaml of a member's folder. Throws CONFIG_INVALID. */
export const readFleetYaml = (dir: string, env: SecretEnv): YamlConfig<FleetConfig> =>
  loadYamlConfig({ file: join(dir, 'fleet.yaml'), schema: FleetConfigSchema, env });

/** The configuration that every member has. */
export interface MemberConfiguration {
  readonly fleet: FleetConfig;
  readonly credentials: Credentials;
  readonly certificates: Certificates;
  /** The text of IDENTITY.md. */
  readonly identity: string;
  /** Facts to log once at start. */
  readonly notes: readonly string[];
  /** Working settings that should be changed. */
  readonly warnings: readonly string[];
}

/**
 * Reads fleet.yaml, every secret that it names, and IDENTITY.md, and adds all errors to `problems`. Returns what could be
 * read; `whole` is undefined unless everything is valid.
 */
export function readMemberConfiguration(
  environment: MemberEnvironment,
  env: SecretEnv,
  processEnv: NodeJS.ProcessEnv,
  problems: Problems,
): { fleet: YamlConfig<FleetConfig> | undefined; whole: MemberConfiguration | undefined } {
  const fleet = problems.attempt(() => readFleetYaml(environment.dir, env));
  const identity = problems.attempt(() => readIdentity(environment.dir, env));
  if (!fleet) {
    problems.add(unvalidatedProblems(join(environment.dir, 'fleet.yaml'), env, tokenProblems));
    return { fleet, whole: undefined };
  }
  const { value: config, notes, locate } = fleet;
  const credentials = problems.attempt(() => resolveTokens(config, env));
  const { certificates, ...checked } = readCertificates(config, environment.dir, Date.now());
  const own = [...(credentials?.problems ?? []), ...checked.problems];
  problems.add(own.map(({ path, reason }) => ({ path: locate(path), reason })));
  if (!credentials || own.length > 0 || identity === undefined) return { fleet, whole: undefined };
  const shared = sharedWithSiblings({ environment, config, env, processEnv });
  const warnings = [...credentials.warnings, ...checked.warnings, ...shared];
  return { fleet, whole: { fleet: config, credentials, certificates, identity, notes, warnings } };
}

/**
 * Loads a YAML file without schema validation, so that problems across files can be reported beside those of each file.
 * Undefined for invalid YAML, which is reported elsewhere.
 */
export function readUnvalidated(file: string, env: SecretEnv): YamlConfig<unknown> | undefined {
  try {
    return loadYamlConfig({ file, schema: z.unknown(), env });
  } catch (thrown) {
    if (thrown instanceof FleetError && thrown.code === 'CONFIG_INVALID') return undefined;
    throw thrown;
  }
}

/** The problems that `problemsOf` finds in a file that need not match its schema. */
export function unvalidatedProblems(
  file: string,
  env: SecretEnv,
  problemsOf: (raw: unknown, env: SecretEnv) => readonly FieldError[],
): FieldError[] {
  const raw = readUnvalidated(file, env);
  if (!raw) return [];
  return problemsOf(raw.value, env).map(({ path, reason }) => ({ path: raw.locate(path), reason }));
}

const FRONT_MATTER = /^\uFEFF?---\r?\n[\s\S]*?(?:^|\n)---[ \t]*(?:\r?\n|$)/;

/**
 * The text of IDENTITY.md. Placeholders in its front matter are replaced, as in the YAML files; the Markdown stays as it
 * is. Throws CONFIG_INVALID when it cannot be read.
 */
export function readIdentity(dir: string, env: SecretEnv): string {
  const text = readIdentityFile(dir);
  const [front = ''] = FRONT_MATTER.exec(text) ?? [];
  const replaced = interpolate(front, (name) => ({ value: env.read(name) }));
  if (replaced.problems.length === 0) return replaced.text + text.slice(front.length);
  throw new FleetError('CONFIG_INVALID', 'the front matter of IDENTITY.md is not valid', {
    fields: replaced.problems.map((reason) => ({ path: 'IDENTITY.md', reason })),
  });
}

function readIdentityFile(dir: string): string {
  try {
    return readFileSync(join(dir, 'IDENTITY.md'), 'utf8');
  } catch (cause) {
    const reason = 'cannot be read: describe the profile in Markdown; its agent card is made from this file';
    throw new FleetError('CONFIG_INVALID', `IDENTITY.md ${reason}`, {
      fields: [{ path: 'IDENTITY.md', reason }],
      cause,
    });
  }
}
