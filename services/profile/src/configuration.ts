import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AgentConfig, AgentConfigSchema } from '@hermes-fleet/agent';
import {
  type Credentials,
  type FleetConfig,
  FleetConfigSchema,
  resolveTokens,
  tierOf,
  tokenProblems,
} from '@hermes-fleet/fleet';
import { type FieldError, FleetError } from '@hermes-fleet/protocol';
import { loadYamlConfig, type SecretEnv } from '@hermes-fleet/service';
import { z } from 'zod';
import { agentTokenProblems } from './agent-tokens.ts';
import type { Environment } from './environment.ts';
import { sharedWithSiblings } from './siblings.ts';

export interface Configuration {
  readonly fleet: FleetConfig;
  readonly agent: AgentConfig;
  readonly credentials: Credentials;
  /** The tier of the agent's model. */
  readonly tier: string;
  /** The text of IDENTITY.md. */
  readonly identity: string;
  /** What is right, and worth saying once at start. */
  readonly notes: readonly string[];
  /** What works, and should be changed. */
  readonly warnings: readonly string[];
}

/**
 * Reads a profile's fleet.yaml, config.yaml and IDENTITY.md, and every secret that they name. Throws one CONFIG_INVALID
 * that lists all problems of all three at once.
 */
export function readConfiguration(
  environment: Environment,
  env: SecretEnv,
  processEnv: NodeJS.ProcessEnv = {},
): Configuration {
  const problems: FieldError[] = [];
  const attempt = <T>(read: () => T, locate = (path: string): string => path): T | undefined => {
    try {
      return read();
    } catch (thrown) {
      if (!(thrown instanceof FleetError) || thrown.code !== 'CONFIG_INVALID') throw thrown;
      problems.push(
        ...(thrown.fields.length > 0
          ? thrown.fields.map(({ path, reason }) => ({ path: locate(path), reason }))
          : [{ path: environment.profile, reason: thrown.message }]),
      );
      return undefined;
    }
  };
  const file = (name: string): string => join(environment.profileDir, name);
  const fleet = attempt(() => loadYamlConfig({ file: file('fleet.yaml'), schema: FleetConfigSchema, env }));
  const agent = attempt(() => loadYamlConfig({ file: file('config.yaml'), schema: AgentConfigSchema, env }));
  const identity = attempt(() => readIdentity(file('IDENTITY.md')));
  const tier = fleet && agent && attempt(() => tierOf(fleet.value, agent.value.model), fleet.locate);
  const credentials = fleet && attempt(() => resolveTokens(fleet.value, env));
  if (!fleet) problems.push(...salvaged(file('fleet.yaml'), env, tokenProblems));
  problems.push(...salvaged(file('config.yaml'), env, agentTokenProblems));
  problems.push(
    ...(credentials?.problems.map(({ path, reason }) => ({ path: fleet?.locate(path) ?? path, reason })) ??
      []),
  );
  if (
    problems.length > 0 ||
    !fleet ||
    !agent ||
    !credentials ||
    tier === undefined ||
    identity === undefined
  ) {
    const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
    throw new FleetError('CONFIG_INVALID', `the configuration of ${environment.profile} has ${count}`, {
      fields: problems,
    });
  }
  const notes = [...fleet.notes, ...agent.notes];
  const { profileDir } = environment;
  const shared = sharedWithSiblings({ profileDir, config: fleet.value, env, processEnv });
  const warnings = [...credentials.warnings, ...shared];
  return { fleet: fleet.value, agent: agent.value, credentials, tier, identity, notes, warnings };
}

/** What the tokens of a file have against it, whatever the schema says; a file that is no YAML has been reported as such. */
function salvaged(file: string, env: SecretEnv, problemsOf: typeof agentTokenProblems): FieldError[] {
  try {
    const { value, locate } = loadYamlConfig({ file, schema: z.unknown(), env });
    return problemsOf(value, env).map(({ path, reason }) => ({ path: locate(path), reason }));
  } catch (thrown) {
    if (thrown instanceof FleetError && thrown.code === 'CONFIG_INVALID') return [];
    throw thrown;
  }
}

/** The text of IDENTITY.md; CONFIG_INVALID when it cannot be read. */
export function readIdentity(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const reason = 'cannot be read: write who this profile is in Markdown; its agent card is made from it';
    throw new FleetError('CONFIG_INVALID', `IDENTITY.md ${reason}`, {
      fields: [{ path: 'IDENTITY.md', reason }],
      cause,
    });
  }
}
