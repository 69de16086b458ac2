import { McpServerConfigSchema } from '@hermes-fleet/mcp';
import { z } from 'zod';
import { modelProblem } from './model/model-name.ts';

const toggle = z.boolean().default(true);
const seconds = z.int().min(1).max(3600);

const Workspace = z.strictObject({
  /** A git repository to work on; without it the profile has one of its own. */
  path: z.string().min(1).optional(),
  /** `in_place`: every context works in the repository's own tree, one task at a time. */
  isolation: z.enum(['worktree', 'in_place']).default('worktree'),
});

const Tools = z.strictObject({
  workspace: z.strictObject({ enabled: toggle }).prefault({}),
  shell: z
    .strictObject({
      enabled: toggle,
      confine: z.enum(['auto', 'bubblewrap', 'uid', 'unconfined']).default('auto'),
      timeout_s: seconds.default(120),
      /** Directories that commands may read beside the system's. */
      readable: z.array(z.string().startsWith('/', 'must be an absolute path')).max(100).default([]),
    })
    .prefault({}),
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
    workspace: Workspace.prefault({}),
    tools: Tools.prefault({}),
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
