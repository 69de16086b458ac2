import { join } from 'node:path';
import { type AgentConfig, AgentConfigSchema } from '@hermes-fleet/agent';
import { tierOf } from '@hermes-fleet/fleet-config';
import {
  createProblems,
  type MemberConfiguration,
  readMemberConfiguration,
  unvalidatedProblems,
} from '@hermes-fleet/member';
import { loadYamlConfig, type SecretEnv } from '@hermes-fleet/service';
import { agentTokenProblems } from './agent-tokens.ts';
import type { Environment } from './environment.ts';

export interface Configuration extends MemberConfiguration {
  readonly agent: AgentConfig;
  /** The tier of the agent's model. */
  readonly tier: string;
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
  const problems = createProblems(environment.name);
  const { fleet, whole } = readMemberConfiguration(environment, env, processEnv, problems);
  const file = join(environment.dir, 'config.yaml');
  const agent = problems.attempt(() => loadYamlConfig({ file, schema: AgentConfigSchema, env }));
  const tier = fleet && agent && problems.attempt(() => tierOf(fleet.value, agent.value.model), fleet.locate);
  problems.add(unvalidatedProblems(file, env, agentTokenProblems));
  if (problems.found.length > 0 || !whole || !agent || tier === undefined) throw problems.error();
  return { ...whole, agent: agent.value, tier, notes: [...whole.notes, ...agent.notes] };
}
