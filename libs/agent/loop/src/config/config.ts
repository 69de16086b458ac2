import { isDeepStrictEqual } from 'node:util';
import { McpServerConfigSchema } from '@hermes-fleet/mcp';
import {
  type CommandLimits,
  type ConfinementOptions,
  type DiskSpace,
  defaultMemoryMb,
  defaultProcesses,
  type SetUpCommands,
} from '@hermes-fleet/workspace';
import { z } from 'zod';
import type { AllowedNetwork } from '../network/allowed-network.ts';
import { EXECUTOR_KINDS, type ExecutorKind, type ExecutorRules, valueAt } from './executor-rules.ts';
import { IgnoredKeys } from './ignored-keys.ts';
import { FallbackModel, ModelCallsConfig, modelKeys } from './model-config.ts';
import { modelProblem } from './model-name.ts';
import { Tools } from './tools-config.ts';

const toggle = z.boolean().default(true);

const Workspace = z.strictObject({
  /** A git repository to work on. By default the profile has its own. */
  path: z.string().min(1).optional(),
  /** With `in_place`, all contexts share the repository's own working tree, one task at a time. */
  isolation: z.enum(['worktree', 'in_place']).default('worktree'),
  /** Commands that prepare the tree of each new context, run once for each commit of the base. Not in place. */
  setup: z
    .union([z.string().min(1), z.array(z.string().min(1)).max(50)])
    .default([])
    .transform((commands) => [commands].flat()),
  /** For all commands of `setup` together. */
  setup_timeout_s: z.int().min(1).max(86_400).default(1800),
  /** The disk space that one context may use, in MiB; 0: no limit. It does not apply in place. */
  max_mb: z.int().min(0).default(20_480),
  /** With less free on the disk, nothing new begins and running work ends, in MiB; 0: off. */
  min_free_mb: z.int().min(0).default(512),
});

/** Guards of the loop: docs/agent.md#guards. */
const Hooks = z.strictObject({
  /** Logs every tool call and its outcome. */
  logToolUse: z.boolean().default(false),
  verifyBeforeComplete: toggle,
  loopDetection: toggle,
  /** Consecutive successful edits of one file, or identical calls, before the first warning. */
  loopDetectionThreshold: z.int().min(2).max(100).default(3),
  compactSuccessOutput: toggle,
  /** A successful command's output is summarized above this many lines. */
  compactOutputThreshold: z.int().min(1).max(100_000).default(50),
});

const A2AAgent = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  description: z.string().min(1).max(1000),
  /** Environment variable with the bearer token for this agent. */
  token_env: z.string().min(1).optional(),
});

const A2A = z.strictObject({
  enabled: toggle,
  port: IgnoredKeys.shape.a2a_port,
  /** Registered remote agents by name. */
  agents: z
    .record(z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/i), A2AAgent)
    .nullish()
    .transform((agents) => agents ?? {}),
});

const Subagents = z.strictObject({
  enabled: toggle,
  /** Step limit of a sub-agent whose definition sets none. */
  max_steps: z.int().min(1).max(200).default(20),
});

/** How the model's provider is probed: docs/agent.md#model-health. */
const ModelProbe = z.strictObject({
  interval_s: z.number().min(0.1).max(3600).default(15),
  timeout_s: z.number().min(0.1).max(300).default(5),
  /** Failed probes in a row after which the model is not healthy. */
  down_after: z.int().min(1).max(100).default(2),
  /** Successful probes in a row after which it is healthy again. */
  up_after: z.int().min(1).max(100).default(1),
});

const Named = z.looseObject({
  model: z.string(),
  base_url: z.string().optional(),
  provider: z.unknown().optional(),
});
const NamedFallbacks = z.looseObject({ fallback_models: z.array(Named).catch([]) });

/**
 * A profile's `config.yaml` (docs/configuration.md#configyaml). Model names: `offline/runbook`, `anthropic/<name>` (or a bare
 * `claude-…`), `openai/<name>`, `openrouter/<name>`, `openai-compatible/<name>` with `base_url`, and any with `provider`.
 */
export const AgentConfigSchema = z
  .strictObject({
    model: z.string().min(1).default('offline/runbook'),
    ...modelKeys,
    fallback_models: z.array(FallbackModel).max(10).default([]),
    model_probe: ModelProbe.prefault({}),
    model_calls: ModelCallsConfig.prefault({}),
    executor: z.enum(EXECUTOR_KINDS).default('loop'),
    defaultAgent: IgnoredKeys.shape.defaultAgent,
    workspace: Workspace.prefault({}),
    tools: Tools.prefault({}),
    hooks: Hooks.prefault({}),
    a2a: A2A.prefault({}),
    subagents: Subagents.prefault({}),
    scratch: z
      .strictObject({
        /** Days to keep a task's scratchpad after its last use; in place, its spilled outputs too. */
        keep_days: z.int().min(0).max(3650).default(7),
      })
      .prefault({}),
    mcp: z
      .strictObject({
        servers: z.record(z.string(), McpServerConfigSchema).default({}),
        /** The most instances of servers of scope `task` at a time. */
        max_task_servers: z.int().min(1).max(100).default(8),
        /** Seconds without a call after which such an instance ends. */
        task_server_idle_s: z.number().min(0.1).max(86_400).default(300),
      })
      .prefault({}),
    budget: z
      .strictObject({
        /** In tokens, for tasks that set no budget. */
        default: z.int().positive().optional(),
        count_cache: z.boolean().default(false),
      })
      .prefault({}),
    limits: z
      .strictObject({
        max_steps: z.int().min(1).max(1000).default(50),
        max_output_tokens: z.int().min(64).max(200_000).default(8192),
        /** The most input of one model call, where it is to be less than the context window allows. */
        max_input_tokens: z.int().min(1000).optional(),
        /** The share of the context window above which a conversation is summarized. */
        compact_at: z.number().min(0.2).max(0.95).default(0.8),
      })
      .prefault({}),
  })
  .superRefine(
    (value, ctx) => {
      const problem = modelProblem(value.model, value.base_url, value.provider !== undefined);
      if (problem) ctx.addIssue({ code: 'custom', path: [problem.key], message: problem.reason });
      if (value.workspace?.isolation === 'in_place' && value.workspace.setup?.length > 0) {
        const message =
          'in place, the tree is yours, so you prepare it: remove setup, or use isolation: worktree';
        ctx.addIssue({ code: 'custom', path: ['workspace', 'setup'], message });
      }
      const others = NamedFallbacks.parse(value).fallback_models;
      for (const [index, other] of others.entries()) {
        const found = modelProblem(other.model, other.base_url, other.provider !== undefined);
        const path = ['fallback_models', index, found?.key ?? ''];
        if (found) ctx.addIssue({ code: 'custom', path, message: found.reason });
      }
    },
    // Runs even when other keys are invalid, so that one error lists all problems.
    { when: ({ value }) => Named.safeParse(value).success },
  );

export type AgentConfig = z.output<typeof AgentConfigSchema>;

/** The schema of config.yaml in a process with executors of these rules: what the configured one refuses is refused. */
export function configSchemaFor(rulesOf: (kind: ExecutorKind) => ExecutorRules) {
  const defaults = AgentConfigSchema.parse({});
  const Executor = z.object({ executor: z.enum(EXECUTOR_KINDS) });
  return AgentConfigSchema.superRefine(
    (config, ctx) => {
      for (const [key, message] of Object.entries(rulesOf(config.executor).refuses)) {
        const value = valueAt(config, key);
        if (value !== undefined && !isDeepStrictEqual(value, valueAt(defaults, key)))
          ctx.addIssue({ code: 'custom', path: key.split('.'), message });
      }
    },
    // As above.
    { when: ({ value }) => Executor.safeParse(value).success },
  );
}

/** The configuration with each of its fallback models in the place of the model. */
export const fallbackConfigs = (config: AgentConfig): AgentConfig[] =>
  config.fallback_models.map((other) => ({ ...config, ...ownKeys, ...other, fallback_models: [] }));

/** Keys of the first model that do not hold for another one. */
const ownKeys = {
  base_url: undefined,
  api_key_env: undefined,
  context_window: undefined,
  provider: undefined,
  temperature: undefined,
  effort: undefined,
};

/**
 * How a placeholder of config.yaml stays that the environment does not replace: one that is replaced for each context; `whole`,
 * those of the shell in the commands of a set-up, and any in the environment of commands, which are refused there.
 */
export const isContextPlaceholder = (path: readonly PropertyKey[], name: string): boolean | 'whole' => {
  if (path.slice(0, 2).join('.') === 'workspace.setup') return 'whole';
  if (path.slice(0, 3).join('.') === 'tools.shell.env') return 'whole';
  return name === 'WORKSPACE' && path[0] === 'mcp' && ['args', 'env', 'cwd'].includes(String(path[3]));
};

/** The options of a confinement that the configuration sets; `readable` are the directories that the executor needs. */
export function confinementSettings(
  { tools: { shell }, workspace }: AgentConfig,
  readable: readonly string[],
): Pick<ConfinementOptions, 'confine' | 'network' | 'limits' | 'repositoryPath' | 'readable'> {
  return {
    confine: shell.confine,
    readable: [...shell.readable, ...readable],
    network: typeof shell.network === 'string' ? shell.network : 'allow',
    limits: commandLimits(shell.limits),
    repositoryPath: workspace.path,
  };
}

/** The set-up of new contexts, undefined where none is configured. */
export function setUpOf(
  { workspace, tools }: AgentConfig,
  disk: DiskSpace,
  network: AllowedNetwork | undefined,
): SetUpCommands | undefined {
  const { setup: commands, setup_timeout_s, max_mb } = workspace;
  if (commands.length === 0) return undefined;
  const maxBytes = max_mb === 0 ? undefined : max_mb * 1024 * 1024;
  const { path: shell = '/bin/sh', env } = tools.shell;
  const proxied = network && (() => network.open({ command: 'workspace.setup' }));
  return { commands, shell, env, timeoutMs: setup_timeout_s * 1000, maxBytes, disk, proxied };
}

export const commandLimits = (limits: AgentConfig['tools']['shell']['limits']): CommandLimits => ({
  processes: limits.processes ?? defaultProcesses(),
  memoryMb: limits.memory_mb ?? defaultMemoryMb(),
  dataMb: limits.data_mb,
  fileMb: limits.file_mb,
  openFiles: limits.open_files,
  cpuS: limits.cpu_s,
});
