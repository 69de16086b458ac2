import { join } from 'node:path';
import { type ConversationOptions, type RunResources, SCRATCH, scratchDir } from '@hermes-fleet/loop';
import { type AdmittedTask, taskFields } from '@hermes-fleet/protocol/ports';
import { COMMAND_ENV, runCommand } from '@hermes-fleet/workspace';
import type { MeteringProxy } from './metering-proxy.ts';
import { isNative, nameInClaude } from './native-tools.ts';
import type { SessionOptions } from './session.ts';
import type { SessionCalls } from './session-calls.ts';
import { toolServer } from './tool-server.ts';

/** The MCP server's name, by which Claude Code's permissions allow the agent's tools. */
const SERVER = 'fleet';

/** Prefix of the folders with session files, inside the tasks' scratchpads. */
const PREFIX = '.claude-';

/**
 * The folder of a task's session files, relative to the workspace. It is left out of commits and swept with the
 * scratchpad.
 */
const sessionFolder = (task: AdmittedTask): string =>
  `${scratchDir(task)}/${PREFIX}${task.id.replace(/[^A-Za-z0-9-]+/g, '_').slice(-80)}`;

/** Matches all session files, for a permission rule that hides them from the model. */
const SESSION_FILES = `./${SCRATCH}/*/${PREFIX}*/**`;

/** The same for every session (docs/claude-code.md#permissions). */
const FIXED = {
  permissionMode: 'dontAsk',
  settingSources: [],
  strictMcpConfig: true,
  skills: [],
  verbatimPrompts: true,
  thinking: { type: 'disabled' },
  includePartialMessages: true,
  settings: { permissions: { deny: [`Read(${SESSION_FILES})`] } },
} as const;

/** The environment and the query of a session. They reveal nothing about the gateway. */
export function sessionOptions(
  session: {
    /** Claude Code's name of the model. */
    readonly model: string;
    readonly id: string;
    /** True when the session exists and is resumed. */
    readonly resumed: boolean;
    readonly proxy: Pick<MeteringProxy, 'url' | 'key'>;
    readonly calls: Pick<SessionCalls, 'servedTools' | 'serve'>;
  },
  options: Pick<ConversationOptions, 'instructions' | 'tools' | 'maxSteps' | 'state'>,
  { workspace, task, limits }: Pick<RunResources, 'workspace' | 'task' | 'limits'>,
): Pick<SessionOptions, 'env' | 'query'> {
  const { model, id, resumed, proxy, calls } = session;
  const native = options.tools.filter(({ name }) => isNative(name)).map(({ name }) => nameInClaude(name));
  const folder = join(workspace.dir, sessionFolder(task));
  return {
    // The whole environment of the process: nothing is inherited, and the key is valid only at the run's metering proxy.
    env: {
      ...COMMAND_ENV,
      ...ENVIRONMENT,
      ...Object.fromEntries(MODELS.map((name) => [name, model])),
      HOME: join(folder, 'home'),
      CLAUDE_CONFIG_DIR: join(folder, 'config'),
      CLAUDE_CODE_TMPDIR: join(folder, 'tmp'),
      ANTHROPIC_BASE_URL: proxy.url,
      ANTHROPIC_API_KEY: proxy.key,
      CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(limits.max_output_tokens),
    },
    query: {
      ...FIXED,
      model,
      systemPrompt: options.instructions,
      tools: native,
      allowedTools: [...native, `mcp__${SERVER}`],
      maxTurns: Math.max(1, options.maxSteps - options.state.step),
      mcpServers: { [SERVER]: toolServer({ name: SERVER, tools: calls.servedTools, call: calls.serve }) },
      ...(resumed ? { resume: id } : { sessionId: id }),
    },
  };
}

const DAY_MS = 86_400_000;

const ENVIRONMENT: Readonly<Record<string, string>> = {
  // Turn off telemetry, updates and all other unsolicited traffic.
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_TELEMETRY: '1',
  DISABLE_ERROR_REPORTING: '1',
  DISABLE_AUTOUPDATER: '1',
  CLAUDE_CODE_ATTRIBUTION_HEADER: '0',
  CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
  CLAUDE_CODE_DISABLE_CRON: '1',
  CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING: '1',
  // Keep everything but the brief and the agent's own prompt out of the conversation.
  CLAUDE_CODE_DISABLE_CLAUDE_MDS: '1',
  CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1',
  CLAUDE_CODE_DISABLE_ATTACHMENTS: '1',
  CLAUDE_CODE_DISABLE_BUNDLED_SKILLS: '1',
  CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS: '1',
  CLAUDE_CODE_TOTAL_TOKENS_REMINDER: '0',
  CLAUDE_CODE_MAX_RETRIES: '2',
  // The proxy ends a call that gets no answer (`model_calls`).
  API_TIMEOUT_MS: String(DAY_MS),
  CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '50',
  CLAUDE_AGENT_SDK_MCP_NO_PREFIX: '1',
  MCP_TOOL_TIMEOUT: String(DAY_MS),
  // The guards have already limited the output of the agent's tools.
  MAX_MCP_OUTPUT_TOKENS: '100000',
  ENABLE_MCP_LARGE_OUTPUT_FILES: '0',
  NO_PROXY: '127.0.0.1',
};

/** The models of Claude Code's helpers. All are set to the configured model. */
const MODELS = [
  'ANTHROPIC_MODEL',
  'ANTHROPIC_SMALL_FAST_MODEL',
  'ANTHROPIC_DEFAULT_HAIKU_MODEL',
  'ANTHROPIC_DEFAULT_SONNET_MODEL',
  'ANTHROPIC_DEFAULT_OPUS_MODEL',
  'CLAUDE_CODE_SUBAGENT_MODEL',
];

const REMOVE_MS = 10_000;
/** Removes the session folder, and its parents if they are empty. */
const REMOVE = 'rm -rf -- "$1"; rmdir -- "$2" "$3" 2>/dev/null; true';

/** Removes the session files of a task that is over, as a confined command: a planted link gives it no more rights. */
export async function removeSession({ workspace, task, clock, log }: RunResources): Promise<void> {
  const folders = [sessionFolder(task), scratchDir(task), SCRATCH].map((path) => join(workspace.dir, path));
  const line = workspace.wrap('/bin/sh', ['-c', REMOVE, 'sh', ...folders]);
  try {
    await runCommand(line, { cwd: workspace.dir, timeoutMs: REMOVE_MS, clock });
  } catch (error) {
    log.warn({ ...taskFields(task), err: error }, 'the session of a task that is over could not be removed');
  }
}
