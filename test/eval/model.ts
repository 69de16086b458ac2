import { type AgentConfig, AgentConfigSchema, isContextPlaceholder } from '@hermes-fleet/loop';
import { FleetError } from '@hermes-fleet/protocol';
import { createSecretEnv, loadYamlConfig, type SecretEnv } from '@hermes-fleet/service';
import type { EvalBrief } from './brief.ts';
import { MODEL_NAME } from './script/scripted-model.ts';

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

/** True when the brief has a script and the model is `offline/runbook`: the scripted model takes its place. */
export const isPlayed = ({ script }: EvalBrief, { config }: EvalSettings): boolean =>
  script !== undefined && config.model === 'offline/runbook';

/** The configuration for one brief. `playedAt` is the address of the scripted model, if it is played. */
export function settingsFor(
  brief: EvalBrief,
  settings: EvalSettings,
  playedAt: string | undefined,
): EvalSettings {
  const { config, env } = settings;
  const { window, max_steps: steps = 0, max_output_tokens: output = Number.POSITIVE_INFINITY } = brief;
  const { max_steps: maxSteps, max_output_tokens: maxOutput } = config.limits;
  const limits = { max_steps: Math.max(maxSteps, steps), max_output_tokens: Math.min(maxOutput, output) };
  const limited = { ...config, limits: { ...config.limits, ...limits } };
  if (playedAt !== undefined) return { env, config: { ...limited, model: MODEL_NAME, base_url: playedAt } };
  if (window === undefined || config.model === 'offline/runbook') return { env, config: limited };
  return { env, config: { ...limited, context_window: Math.min(config.context_window ?? window, window) } };
}
