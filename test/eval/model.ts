import { type AgentConfig, AgentConfigSchema } from '@hermes-fleet/agent';
import { FleetError } from '@hermes-fleet/protocol';
import { createSecretEnv, loadYamlConfig, type SecretEnv } from '@hermes-fleet/service';

export interface ModelChoice {
  readonly model?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly apiKeyEnv?: string | undefined;
  /** A profile's config.yaml, for its model, its executor, its guards and its limits. */
  readonly config?: string | undefined;
}

/** What the agent of every run goes by: the model that was chosen, and tools as the briefs need them. */
export interface EvalSettings {
  readonly config: AgentConfig;
  readonly env: SecretEnv;
}

/** Throws CONFIG_INVALID with what is wrong about the choice. */
export function evalSettings(choice: ModelChoice, processEnv: NodeJS.ProcessEnv): EvalSettings {
  const env = createSecretEnv(processEnv);
  if (choice.config !== undefined) {
    const { value } = loadYamlConfig({ file: choice.config, schema: AgentConfigSchema, env });
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
  throw new FleetError('CONFIG_INVALID', 'no model can be made of this choice', { fields });
}
