import { isDeepStrictEqual } from 'node:util';
import { McpServerConfigSchema } from '@hermes-fleet/mcp';
import {
  type CommandLimits,
  type ConfinementOptions,
  defaultMemoryMb,
  defaultProcesses,
} from '@hermes-fleet/workspace';
import { z } from 'zod';
import { CommitConfig } from './commit-config.ts';
import { EXECUTOR_KINDS, type ExecutorKind, type ExecutorRules, valueAt } from './executor-rules.ts';
import { IgnoredKeys } from './ignored-keys.ts';
import { FallbackModel, httpUrl, ModelCallsConfig, modelKeys, seconds, whole } from './model-config.ts';
import { modelProblem } from './model-name.ts';
import { Repositories, Setup, SetupTimeout } from './repository-config.ts';
import { Tools } from './tools-config.ts';

const toggle = z.boolean().default(true);

const Workspace = z.strictObject({
  path: z
    .string()
    .min(1)
    .optional()
    .describe("a git repository to work on, which the commands' user can read; default: one of its own"),
  isolation: z
    .enum(['worktree', 'in_place'])
    .default('worktree')
    .describe('a repository for each context, or one tree for all tasks, see [below](#working-in-place)'),
  setup: Setup.describe(
    'commands that prepare the tree of each new context, see [Set-up](#set-up); refused in place',
  ),
  setup_timeout_s: SetupTimeout.describe('the most that all commands of `workspace.setup` together may take'),
  repositories: Repositories.describe('[repositories](#repositories) that tasks may name; refused in place'),
  max_mb: whole(0)
    .default(20_480)
    .describe('what the files of a context may take, see [Disk space](#disk-space); not in place'),
  min_free_mb: whole(0)
    .default(512)
    .describe('with less free on the disk of the workspaces, nothing new begins, and running work ends'),
  commit: CommitConfig.prefault({}),
});

/** Guards of the loop: docs/agent.md#guards. */
const Hooks = z.strictObject({
  logToolUse: z.boolean().default(false).describe('log every tool call and its result'),
  verifyBeforeComplete: toggle.describe('send back a run that ends with unverified changes'),
  loopDetection: toggle.describe('warn a run that repeats itself, and stop it if it continues'),
  loopDetectionThreshold: whole(2, 100)
    .default(3)
    .describe('edits of one file, or identical calls, before the first warning'),
  compactSuccessOutput: toggle.describe('summarize long output of commands that succeeded'),
  compactOutputThreshold: whole(1, 100_000)
    .default(50)
    .describe('output of more lines than this is summarized'),
});

const A2AAgent = z.strictObject({
  url: httpUrl.describe('the address of its card or of its endpoint, which may be internal'),
  description: z.string().min(1).max(1000).describe('its purpose, as the model reads it'),
  token_env: z
    .string()
    .min(1)
    .optional()
    .describe('the token sent to it, at the origin of its URL and nowhere else'),
});

const A2A = z.strictObject({
  enabled: toggle.describe('`false`: the `a2a` tools and `delegate` are offered no registered agents'),
  port: IgnoredKeys.shape.a2a_port,
  agents: z
    .record(z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/i), A2AAgent)
    .nullish()
    .transform((agents) => agents ?? {}),
});

const Subagents = z.strictObject({
  enabled: toggle.describe('`delegate`: to sub-agents, registered A2A agents and peers'),
  max_steps: whole(1, 200)
    .default(20)
    .describe('model calls of a sub-agent whose definition does not set `max_steps`'),
});

const ModelProbe = z.strictObject({
  interval_s: seconds(0.1, 3600)
    .default(15)
    .describe("how often the model's provider is probed, see [Model health](agent.md#model-health)"),
  timeout_s: seconds(0.1, 300).default(5).describe('how long a probe waits for an answer'),
  down_after: whole(1, 100)
    .default(2)
    .describe('failed probes in a row after which the model is not healthy'),
  up_after: whole(1, 100).default(1).describe('successful probes in a row after which it is healthy again'),
});

const Named = z.looseObject({
  model: z.string(),
  base_url: z.string().optional(),
  provider: z.unknown().optional(),
});
const NamedFallbacks = z.looseObject({ fallback_models: z.array(Named).catch([]) });

/** A profile's `config.yaml` (docs/configuration.md#configyaml). */
export const AgentConfigSchema = z
  .strictObject({
    model: z.string().min(1).default('offline/runbook').describe("the model's provider and name"),
    ...modelKeys,
    fallback_models: z
      .array(FallbackModel)
      .max(10)
      .default([])
      .describe('models to call, in this order, when `model` cannot be called'),
    model_probe: ModelProbe.prefault({}),
    model_calls: ModelCallsConfig.prefault({}),
    executor: z
      .enum(EXECUTOR_KINDS)
      .default('loop')
      .describe(
        "what runs a task: the fleet's own [loop](agent.md#the-loop), or [Claude Code](agent.md#executors)",
      ),
    defaultAgent: IgnoredKeys.shape.defaultAgent,
    workspace: Workspace.prefault({}),
    tools: Tools.prefault({}),
    hooks: Hooks.prefault({}),
    a2a: A2A.prefault({}),
    subagents: Subagents.prefault({}),
    scratch: z
      .strictObject({
        keep_days: whole(0, 3650)
          .default(7)
          .describe(
            "a task's scratchpad is [removed](operations.md#what-is-removed-and-when) so long after its last use",
          ),
      })
      .prefault({}),
    mcp: z
      .strictObject({
        servers: z.record(z.string(), McpServerConfigSchema).default({}),
        max_task_servers: whole(1, 100)
          .default(8)
          .describe('the most instances of [servers](agent.md#mcp-servers) of `scope: task` at a time'),
        task_server_idle_s: seconds(0.1, 86_400)
          .default(300)
          .describe('an instance of `scope: task` without a call is stopped after this time'),
      })
      .prefault({}),
    budget: z
      .strictObject({
        default: z
          .int()
          .positive()
          .optional()
          .describe('the tokens of tasks that state no budget; without it, they have no limit'),
        count_cache: z
          .boolean()
          .default(false)
          .describe('count tokens read from and written to a prompt cache as spent'),
      })
      .prefault({}),
    limits: z
      .strictObject({
        max_steps: whole(1, 1000).default(50).describe('model calls of one task'),
        max_output_tokens: whole(64, 200_000).default(8192).describe('the longest answer of one model call'),
        max_input_tokens: whole(1000)
          .optional()
          .describe(
            'the most [input](agent.md#long-conversations) of one model call, if the context window is larger',
          ),
        compact_at: z
          .number()
          .min(0.2)
          .max(0.95)
          .default(0.8)
          .describe('the share of the context window above which a conversation is summarized'),
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
      if (
        value.workspace?.isolation === 'in_place' &&
        Object.keys(value.workspace.repositories ?? {}).length > 0
      ) {
        const message =
          'in place, all tasks work in one tree: remove repositories, or use isolation: worktree';
        ctx.addIssue({ code: 'custom', path: ['workspace', 'repositories'], message });
      }
      if (value.workspace?.isolation === 'in_place' && value.workspace.commit?.signing_key_file) {
        const message = 'in place, git runs as a command, which must not read the key: sign commits yourself';
        ctx.addIssue({ code: 'custom', path: ['workspace', 'commit', 'signing_key_file'], message });
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
  const [first, , third] = path[0] === 'workspace' ? path.slice(1) : path;
  if (first === 'repositories' && third === 'setup') return 'whole';
  if (path.slice(0, 3).join('.') === 'tools.shell.env') return 'whole';
  return name === 'WORKSPACE' && path[0] === 'mcp' && ['args', 'env', 'cwd'].includes(String(path[3]));
};

/** The options of a confinement that the configuration sets; `readable` are the directories that the executor needs. */
export function confinementSettings(
  { tools: { shell }, workspace }: AgentConfig,
  readable: readonly string[],
): Omit<ConfinementOptions, 'workspaceRoot' | 'stateDir' | 'clock' | 'log'> {
  return {
    confine: shell.confine,
    readable: [...shell.readable, ...readable],
    network: typeof shell.network === 'string' ? shell.network : 'allow',
    limits: commandLimits(shell.limits),
    repositoryPath: workspace.path,
    secretFiles: secretFiles(workspace),
  };
}

/** The files with secrets of the gateway, each with its key. */
function secretFiles({ commit, repositories }: AgentConfig['workspace']) {
  const tokens = Object.entries(repositories).map(([name, { token_file: file }]) => ({
    key: `workspace.repositories.${name}.token_file`,
    file,
  }));
  return [{ key: 'workspace.commit.signing_key_file', file: commit.signing_key_file }, ...tokens].flatMap(
    ({ key, file }) => (file === undefined ? [] : [{ key, file }]),
  );
}

export const commandLimits = (limits: AgentConfig['tools']['shell']['limits']): CommandLimits => ({
  processes: limits.processes ?? defaultProcesses(),
  memoryMb: limits.memory_mb ?? defaultMemoryMb(),
  dataMb: limits.data_mb,
  fileMb: limits.file_mb,
  openFiles: limits.open_files,
  cpuS: limits.cpu_s,
});
