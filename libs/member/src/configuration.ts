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
import { loadYamlConfig, type SecretEnv, type YamlConfig } from '@hermes-fleet/service';
import { z } from 'zod';
import type { MemberEnvironment } from './environment.ts';
import type { Problems } from './problems.ts';
import { sharedWithSiblings } from './siblings.ts';

/** What every member's files come to. */
export interface MemberConfiguration {
  readonly fleet: FleetConfig;
  readonly credentials: Credentials;
  /** The text of IDENTITY.md. */
  readonly identity: string;
  /** What is right, and worth saying once at start. */
  readonly notes: readonly string[];
  /** What works, and should be changed. */
  readonly warnings: readonly string[];
}

/** What could be read of a member's files; what is missing has its problems told. */
export interface MemberReading {
  readonly fleet: YamlConfig<FleetConfig> | undefined;
  /** Undefined unless all of it is right. */
  readonly whole: MemberConfiguration | undefined;
}

/** Reads fleet.yaml, every secret that it names, and IDENTITY.md, and adds all that is wrong to `problems`. */
export function readMemberConfiguration(
  environment: MemberEnvironment,
  env: SecretEnv,
  processEnv: NodeJS.ProcessEnv,
  problems: Problems,
): MemberReading {
  const file = join(environment.dir, 'fleet.yaml');
  const fleet = problems.attempt(() => loadYamlConfig({ file, schema: FleetConfigSchema, env }));
  const identity = problems.attempt(() => readIdentity(environment.dir));
  if (!fleet) {
    problems.add(unvalidatedProblems(file, env, tokenProblems));
    return { fleet, whole: undefined };
  }
  const { value: config, notes, locate } = fleet;
  const credentials = problems.attempt(() => resolveTokens(config, env));
  problems.add((credentials?.problems ?? []).map(({ path, reason }) => ({ path: locate(path), reason })));
  if (!credentials || credentials.problems.length > 0 || identity === undefined)
    return { fleet, whole: undefined };
  const warnings = [...credentials.warnings, ...sharedWithSiblings({ environment, config, env, processEnv })];
  return { fleet, whole: { fleet: config, credentials, identity, notes, warnings } };
}

/**
 * A file as it stands, whatever its schema says, so that what spans several files is told beside what is wrong in each.
 * Undefined for one that is no YAML, which has been told of as such.
 */
export function readUnvalidated(file: string, env: SecretEnv): YamlConfig<unknown> | undefined {
  try {
    return loadYamlConfig({ file, schema: z.unknown(), env });
  } catch (thrown) {
    if (thrown instanceof FleetError && thrown.code === 'CONFIG_INVALID') return undefined;
    throw thrown;
  }
}

/** What the secrets that such a file names have against it. */
export function unvalidatedProblems(
  file: string,
  env: SecretEnv,
  problemsOf: (raw: unknown, env: SecretEnv) => readonly FieldError[],
): FieldError[] {
  const raw = readUnvalidated(file, env);
  if (!raw) return [];
  return problemsOf(raw.value, env).map(({ path, reason }) => ({ path: raw.locate(path), reason }));
}

/** The text of IDENTITY.md; CONFIG_INVALID when it cannot be read. */
export function readIdentity(dir: string): string {
  try {
    return readFileSync(join(dir, 'IDENTITY.md'), 'utf8');
  } catch (cause) {
    const reason = 'cannot be read: write who this is in Markdown; its agent card is made from it';
    throw new FleetError('CONFIG_INVALID', `IDENTITY.md ${reason}`, {
      fields: [{ path: 'IDENTITY.md', reason }],
      cause,
    });
  }
}
