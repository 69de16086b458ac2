import { type AgentConfig, AgentConfigSchema, isContextPlaceholder } from '@hermes-fleet/agent';
import { FleetError } from '@hermes-fleet/protocol';
import { createSecretEnv, loadYamlConfig, type SecretEnv } from '@hermes-fleet/service';

export interface ModelChoice {
  readonly model?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly apiKeyEnv?: string | undefined;
  /** A profile's config.yaml, for its model, executor, guards and limits. */
  readonly config?: string | undefined;
}

/** The agent's configuration for every run: the chosen model, and the tools that the briefs need. */
export interface EvalSettings {
  readonly config: AgentConfig;
  readonly env: SecretEnv;
}

/** Throws CONFIG_INVALID that names the invalid options. */
export function evalSettings(choice: ModelChoice, processEnv: NodeJS.ProcessEnv): EvalSettings {
  const env = createSecretEnv(processEnv);
  if (choice.config !== undefined) {
    const options = { file: choice.config, schema: AgentConfigSchema, env, isKept: isContextPlaceholder };
    const { value } = loadYamlConfig(options);
    const { workspace, mcp, a2a, budget, tools } = AgentConfigSchema.parse({});
    const { confine, readable, timeout_s } = value.tools.shell;
    const shell = { ...tools.shell, confine, readable, timeout_s };
    return { config: { ...value, workspace, mcp, a2a, budget, tools: { ...tools, shell } }, env };
  }
  const { model, baseUrl, apiKeyEnv } = choice;
  const { data: config, error } = AgentConfigSchema.safeParse({
    ...(model && { model }),
    ...(baseUrl && { base_url: baseUrl }),
    ...(apiKeyEnv && { api_key_env: apiKeyEnv }),
  });
  if (config !== undefined) return { config, env };
  const fields = error.issues.map(({ path, message }) => ({ path: path.join('.'), reason: message }));
  throw new FleetError('CONFIG_INVALID', 'the choice of a model is invalid', { fields });
}
