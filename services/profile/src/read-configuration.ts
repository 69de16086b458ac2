import { join, resolve } from 'node:path';
import { tierOf } from '@hermes-fleet/fleet-config';
import {
  createProblems,
  type MemberConfiguration,
  readMemberConfiguration,
  unvalidatedProblems,
} from '@hermes-fleet/gateway/member';
import { folder } from '@hermes-fleet/installation';
import { type AgentConfig, checkSigningKey, configSchemaFor, isContextPlaceholder } from '@hermes-fleet/loop';
import { replaceMissing } from '@hermes-fleet/mcp';
import { type FieldError, FleetError, isJsonObject } from '@hermes-fleet/protocol';
import { loadYamlConfig, type SecretEnv, type YamlConfig } from '@hermes-fleet/service';
import type { Environment } from './environment.ts';
import { EXECUTORS } from './executors.ts';
import { completeRepositories } from './shared-repositories.ts';

export interface Configuration extends MemberConfiguration {
  readonly agent: AgentConfig;
  /** The tier of the agent's model. */
  readonly tier: string;
}

/**
 * Reads a profile's fleet.yaml, config.yaml and IDENTITY.md, the repositories of all profiles, and every secret that they name.
 * Throws one CONFIG_INVALID that lists the problems of all files.
 */
export function readConfiguration(
  environment: Environment,
  env: SecretEnv,
  processEnv: NodeJS.ProcessEnv = {},
): Configuration {
  const problems = createProblems(environment.name);
  const { fleet, whole } = readMemberConfiguration(environment, env, processEnv, problems);
  const file = join(environment.dir, 'config.yaml');
  const agent = problems.attempt(() =>
    loadYamlConfig({
      file,
      schema: configSchemaFor((kind) => EXECUTORS[kind]),
      env: withFolders(env, environment),
      isKept: isContextPlaceholder,
    }),
  );
  if (agent)
    problems.attempt(() => resolveSigningKey(agent.value.workspace.commit, environment.dir), agent.locate);
  const replaced = agent ? replaceMissingServers(agent) : [];
  const takesRepositories =
    fleet?.value.fleet.response_handler === 'agent' && agent?.value.workspace.isolation === 'worktree';
  if (takesRepositories) completeRepositories(agent, environment, env, problems);
  const tier = fleet && agent && problems.attempt(() => tierOf(fleet.value, agent.value.model), fleet.locate);
  problems.add(unvalidatedProblems(file, env, agentTokenProblems));
  if (problems.found.length > 0 || !whole || !agent || tier === undefined) throw problems.error();
  return { ...whole, agent: agent.value, tier, notes: [...whole.notes, ...agent.notes, ...replaced] };
}

/** Makes the path of the signing key absolute, and tries the key. */
function resolveSigningKey(commit: AgentConfig['workspace']['commit'], dir: string): void {
  if (commit.signing_key_file === undefined) return;
  commit.signing_key_file = resolve(dir, commit.signing_key_file);
  checkSigningKey(commit.signing_key_file);
}

/** Returns a note for each MCP server that is replaced (docs/operations.md#upgrading). */
function replaceMissingServers({ value, locate }: YamlConfig<AgentConfig>): string[] {
  const { servers } = value.mcp;
  return Object.entries(servers).flatMap(([name, before]) => {
    const replacement = replaceMissing(before);
    if (replacement === undefined) return [];
    const { missing, server } = replacement;
    servers[name] = server;
    return `${locate(`mcp.servers.${name}.args`)}: ${missing} is not there, so the server of this release is used; write command: ${server.command}, and remove the path from args`;
  });
}

/** The folders that config.yaml may name, as absolute paths: MCP servers start in other folders than the gateway. */
function withFolders(env: SecretEnv, { workspaceDir }: Environment): SecretEnv {
  return {
    read(name) {
      if (name === 'HERMES_WORKSPACE_DIR') return workspaceDir;
      const value = env.read(name);
      return name === 'HERMES_APP' ? resolve(value ?? folder()) : value;
    },
  };
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Checks the tokens of registered A2A agents; `path` is the configuration key. It accepts an unvalidated config.yaml, so
 * that one start reports invalid keys and missing tokens together. The reasons contain no token.
 */
function agentTokenProblems(config: unknown, env: SecretEnv): FieldError[] {
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
