import { McpServerConfigSchema } from '@hermes-fleet/mcp';
import { z } from 'zod';
import { modelProblem } from './model-name.ts';
import { SourceKeys, SourceTools } from './source-keys.ts';

const toggle = z.boolean().default(true);
const enabled = z.strictObject({ enabled: toggle }).prefault({});
const seconds = z.int().min(1).max(3600);

const Workspace = z.strictObject({
  /** A git repository to work on; without it the profile has one of its own. */
  path: z.string().min(1).optional(),
  /** `in_place`: every context works in the repository's own tree, one task at a time. */
  isolation: z.enum(['worktree', 'in_place']).default('worktree'),
});

const Tools = z.strictObject({
  workspace: enabled,
  shell: z
    .strictObject({
      enabled: toggle,
      confine: z.enum(['auto', 'bubblewrap', 'uid', 'unconfined']).default('auto'),
      timeout_s: seconds.default(120),
      /** Directories that commands may read beside the system's. */
      readable: z.array(z.string().startsWith('/', 'must be an absolute path')).max(100).default([]),
    })
    .prefault({}),
  progress: enabled,
  scratchpad: enabled,
  memory: enabled,
  web: z
    .strictObject({
      enabled: toggle,
      /** Hosts that may be asked although they are internal addresses: `host` or `host:port`. */
      allow_internal: z.array(z.string().min(1)).max(100).default([]),
    })
    .prefault({}),
  a2a: enabled,
  fleet: enabled,
  mcp: enabled,
  ask: enabled,
  ...SourceTools.shape,
});

/** The guards of the loop, by the source document's names and defaults (design 3, The loop). */
const Hooks = z.strictObject({
  /** Writes every tool call and its outcome to the log. */
  logToolUse: z.boolean().default(false),
  verifyBeforeComplete: toggle,
  loopDetection: toggle,
  /** Successful edits of one file, or equal calls, before a warning. */
  loopDetectionThreshold: z.int().min(2).max(100).default(3),
  compactSuccessOutput: toggle,
  /** Lines of a successful command's output above which it is summarised. */
  compactOutputThreshold: z.int().min(1).max(100_000).default(50),
});

const A2AAgent = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  description: z.string().min(1).max(1000),
  /** The variable that holds the token to show to it. */
  token_env: z.string().min(1).optional(),
});

const A2A = z.strictObject({
  enabled: toggle,
  port: SourceKeys.shape.a2a_port,
  /** Registered remote agents, by name. */
  agents: z
    .record(z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/i), A2AAgent)
    .nullish()
    .transform((agents) => agents ?? {}),
});

const Subagents = z.strictObject({
  enabled: toggle,
  /** Steps of one sub-agent whose definition says nothing. */
  max_steps: z.int().min(1).max(200).default(20),
});

const Named = z.looseObject({ model: z.string(), base_url: z.string().optional() });

/**
 * A profile's `config.yaml` (design 3, Tools). Model names: `offline/runbook`, `anthropic/<name>` (or a bare
 * `claude-…`), `openai-compatible/<name>` with `base_url`.
 */
export const AgentConfigSchema = z
  .strictObject({
    model: z.string().min(1).default('offline/runbook'),
    base_url: z.url({ protocol: /^https?$/ }).optional(),
    api_key_env: z.string().min(1).optional(),
    /** In tokens. */
    context_window: z.int().min(1000).optional(),
    /** What runs a task: the loop, or Claude Code. */
    executor: z.enum(['loop', 'claude-code']).default('loop'),
    effort: SourceKeys.shape.effort,
    defaultAgent: SourceKeys.shape.defaultAgent,
    workspace: Workspace.prefault({}),
    tools: Tools.prefault({}),
    hooks: Hooks.prefault({}),
    a2a: A2A.prefault({}),
    subagents: Subagents.prefault({}),
    scratch: z
      .strictObject({
        /** Days that a task's scratchpad and spilled outputs are kept after its last use. */
        keep_days: z.int().min(0).max(3650).default(7),
      })
      .prefault({}),
    mcp: z.strictObject({ servers: z.record(z.string(), McpServerConfigSchema).default({}) }).prefault({}),
    budget: z
      .strictObject({
        /** For tasks that state none, in tokens. */
        default: z.int().positive().optional(),
        count_cache: z.boolean().default(false),
      })
      .prefault({}),
    limits: z
      .strictObject({
        max_steps: z.int().min(1).max(1000).default(50),
        max_output_tokens: z.int().min(64).max(200_000).default(8192),
      })
      .prefault({}),
  })
  .superRefine(
    (config, ctx) => {
      const problem = modelProblem(config.model, config.base_url);
      if (problem) ctx.addIssue({ code: 'custom', path: [problem.key], message: problem.reason });
    },
    // Also beside other wrong keys, so that all are named at once.
    { when: ({ value }) => Named.safeParse(value).success },
  );

export type AgentConfig = z.output<typeof AgentConfigSchema>;
