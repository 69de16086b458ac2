import { join } from 'node:path';
import type { AgentConfig } from '@hermes-fleet/agent';
import { SCRATCH, scratchDir } from '@hermes-fleet/agent';
import type { AdmittedTask } from '@hermes-fleet/protocol';
import { COMMAND_ENV } from '@hermes-fleet/workspace';

/** Begins the names of the folders that sessions of Claude Code lie in, in their tasks' scratchpads. */
const SESSIONS = '.claude-';

/** Where a task's session lies, below its workspace: left out of commits, swept with the scratchpad; ids are our own. */
export const sessionFolder = (task: AdmittedTask): string =>
  `${scratchDir(task)}/${SESSIONS}${task.id.replace(/[^A-Za-z0-9-]+/g, '_').slice(-80)}`;

/** The sessions, for a rule of Claude Code's: its own notes are not the model's to read. */
export const SESSION_FILES = `./${SCRATCH}/*/${SESSIONS}*/**`;

const DAY_MS = 86_400_000;

/** Telemetry, updates, and everything that Claude Code does of its own accord. */
const QUIET: Readonly<Record<string, string>> = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_TELEMETRY: '1',
  DISABLE_ERROR_REPORTING: '1',
  DISABLE_AUTOUPDATER: '1',
  CLAUDE_CODE_ATTRIBUTION_HEADER: '0',
  CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
  CLAUDE_CODE_DISABLE_CRON: '1',
  CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING: '1',
};

/** What would come into the conversation beside the brief and our own prompt. */
const OWN_PROMPT: Readonly<Record<string, string>> = {
  CLAUDE_CODE_DISABLE_CLAUDE_MDS: '1',
  CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1',
  CLAUDE_CODE_DISABLE_ATTACHMENTS: '1',
  CLAUDE_CODE_DISABLE_BUNDLED_SKILLS: '1',
  CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS: '1',
  CLAUDE_CODE_TOTAL_TOKENS_REMINDER: '0',
};

/** The models that helpers of Claude Code would call: all of them are the configured one. */
const MODELS = [
  'ANTHROPIC_MODEL',
  'ANTHROPIC_SMALL_FAST_MODEL',
  'ANTHROPIC_DEFAULT_HAIKU_MODEL',
  'ANTHROPIC_DEFAULT_SONNET_MODEL',
  'ANTHROPIC_DEFAULT_OPUS_MODEL',
  'CLAUDE_CODE_SUBAGENT_MODEL',
];

/**
 * The whole environment of a Claude Code process: nothing of the gateway's is in it, and its key is worth something only
 * at the metering proxy, for as long as the run lasts.
 */
export function claudeEnvironment(o: {
  readonly dir: string;
  readonly task: AdmittedTask;
  readonly model: string;
  readonly address: string;
  readonly key: string;
  readonly limits: AgentConfig['limits'];
}): Record<string, string> {
  const folder = join(o.dir, sessionFolder(o.task));
  return {
    ...COMMAND_ENV,
    ...QUIET,
    ...OWN_PROMPT,
    ...Object.fromEntries(MODELS.map((name) => [name, o.model])),
    HOME: join(folder, 'home'),
    CLAUDE_CONFIG_DIR: join(folder, 'config'),
    CLAUDE_CODE_TMPDIR: join(folder, 'tmp'),
    ANTHROPIC_BASE_URL: o.address,
    ANTHROPIC_API_KEY: o.key,
    CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(o.limits.max_output_tokens),
    CLAUDE_CODE_MAX_RETRIES: '2',
    CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '50',
    CLAUDE_AGENT_SDK_MCP_NO_PREFIX: '1',
    MCP_TOOL_TIMEOUT: String(DAY_MS),
    // Our own guards have bounded what comes from our tools.
    MAX_MCP_OUTPUT_TOKENS: '100000',
    ENABLE_MCP_LARGE_OUTPUT_FILES: '0',
    NO_PROXY: '127.0.0.1',
  };
}
