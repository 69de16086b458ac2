import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, RemoteAgents } from '@hermes-fleet/protocol/ports';
import { COMMAND_ENV, type Confinement, runCommand } from '@hermes-fleet/workspace';
import { type AgentConfig, commandLimits } from './config/config-yaml.ts';
import type { AllowedNetwork } from './network/allowed-network.ts';
import { SHORTEST_PROMPT_CHARS } from './prompt/system-prompt.ts';
import type { AgentTool } from './run/conversation.ts';
import type { Runtime } from './run/executor-provider.ts';
import { toolDefinitions } from './run/tool.ts';
import type { SubagentDefinition } from './subagents/definition.ts';
import { delegateTool } from './subagents/delegate-tool.ts';
import { askTool } from './tools/ask.ts';
import { fileTools } from './tools/file-tools.ts';
import { findFilesTool, listFilesTool } from './tools/find-files.ts';
import { grepFilesTool } from './tools/grep-files.ts';
import { memoryTools } from './tools/memory.ts';
import { progressTools } from './tools/progress.ts';
import { publishFileTool } from './tools/publish-file.ts';
import { scratchpadTools } from './tools/scratchpad.ts';
import { createBackground } from './tools/shell/background.ts';
import { shellExecTool } from './tools/shell-exec.ts';
import { essentialTools } from './tools/toolbox.ts';
import { webFetchTool } from './tools/web-fetch.ts';
import { webSearchTool } from './tools/web-search.ts';

interface AgentToolsOptions {
  readonly config: AgentConfig;
  readonly profile: string;
  readonly stateDir: string;
  readonly confinement: Pick<Confinement, 'method' | 'wrap'>;
  readonly model: string | undefined;
  readonly runtime: Pick<Runtime, 'env' | 'clock'>;
  /** Undefined if sub-agents are disabled. */
  readonly subagents: readonly SubagentDefinition[] | undefined;
  readonly remotes?: RemoteAgents | undefined;
  readonly network?: AllowedNetwork | undefined;
  /** True if commands may go on beside the model's next steps. */
  readonly hasBackground: boolean;
}

/** The built-in tools that the configuration enables. Throws CONFIG_INVALID when commands cannot run its shell. */
export async function createAgentTools(options: AgentToolsOptions) {
  const { config, profile, stateDir, subagents, remotes, network, hasBackground } = options;
  const { env, clock } = options.runtime;
  const { workspace, shell, progress, scratchpad, memory, web, publish, ask } = config.tools;
  const canRun = options.confinement.method !== 'none';
  const isRunbook = options.model === 'offline/runbook';
  const found = { path: shell.path, isPlain: isRunbook, confinement: options.confinement, clock };
  const commands = { profile, shell: await findShell(found), env: shell.env, network, clock };
  const background = createBackground(commands);
  const search = [
    listFilesTool({ clock }),
    findFilesTool({ clock }),
    grepFilesTool({ clock, commands: canRun }),
  ];
  const maxSteps = config.subagents.max_steps;
  const tools = [
    ...(workspace.enabled ? [...fileTools(), ...search] : []),
    ...(shell.enabled && canRun
      ? [
          shellExecTool({ ...commands, timeoutS: shell.timeout_s, limits: commandLimits(shell.limits) }),
          ...(hasBackground ? background.tools : []),
        ]
      : []),
    ...(progress.enabled ? progressTools() : []),
    ...(scratchpad.enabled ? scratchpadTools() : []),
    ...(subagents === undefined
      ? []
      : [delegateTool({ definitions: subagents, remotes, profile, maxSteps })]),
    ...(memory.enabled ? memoryTools({ dir: join(stateDir, 'memory') }) : []),
    ...(web.enabled ? [webFetchTool({ clock, allowInternal: web.allow_internal })] : []),
    ...(web.enabled && web.search !== undefined
      ? [
          webSearchTool({
            ...web.search,
            token: tokenOf(env, web.search.token_env),
            allowInternal: web.allow_internal,
            clock,
          }),
        ]
      : []),
    ...(publish.enabled ? [publishFileTool()] : []),
    ...(ask.enabled ? [askTool()] : []),
  ];
  /** `release` ends the processes that the tools have started for a context. */
  return { tools, release: background.release };
}

/** Reads the token of the search endpoint. Throws CONFIG_INVALID when a token is configured and not there. */
function tokenOf(env: Runtime['env'], name: string | undefined): () => string | undefined {
  if (name === undefined) return () => undefined;
  if (env.read(name) !== undefined) return () => env.read(name);
  const reason = `${name} is not set; set it, or leave token_env out`;
  throw FleetError.ofKey('config.yaml tools.web.search.token_env', reason);
}

/** Names of the tools as announced: the general terms that apply, then the tools themselves. */
export function capabilityNames(tools: readonly AgentTool[]): string[] {
  const names = tools.map(({ name }) => name);
  const terms = { shell_exec: 'terminal', read_file: 'file', edit_file: 'patch' };
  const general = Object.entries(terms).flatMap(([name, term]) => (names.includes(name) ? [term] : []));
  return [...general, ...names];
}

const CHARS_PER_TOKEN = 4;
const SHORTEST_ANSWER_TOKENS = 64;

/** Estimates the smallest usable budget (shortest prompt, short answer) without loading the tokenizer. */
export function minimumBudgetTokens(tools: readonly AgentTool[]): number {
  const fixed = toolDefinitions(essentialTools(tools)).json.length + SHORTEST_PROMPT_CHARS;
  return Math.ceil(fixed / CHARS_PER_TOKEN) + SHORTEST_ANSWER_TOKENS;
}

const SH = '/bin/sh';
/** Models write for bash. */
const BASH = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'];
const PROBE_MS = 10_000;
const PROBE = 'for s; do [ "$("$s" -c "echo ok" 2>/dev/null)" = ok ] && echo "$s" && exit 0; done; exit 1';

/** The configured shell, else bash where confined commands can run it, else sh. Throws CONFIG_INVALID as above. */
async function findShell(options: {
  /** `tools.shell.path`. */
  readonly path: string | undefined;
  /** True where the default is sh: a runbook's blocks are titled so. */
  readonly isPlain: boolean;
  readonly confinement: Pick<Confinement, 'method' | 'wrap'>;
  readonly clock: Clock;
}): Promise<string> {
  const { path, isPlain, confinement, clock } = options;
  if (confinement.method === 'none' || (isPlain && path === undefined)) return SH;
  const candidates = path === undefined ? BASH : [path];
  const line = confinement.wrap(SH, ['-c', PROBE, 'sh', ...candidates], { writable: [], readOnly: [] });
  const limits = { timeoutMs: PROBE_MS, keepBytes: 4096, maxBytes: 65_536, clock };
  const { exitCode, stdout } = await runCommand(line, { cwd: '/', env: COMMAND_ENV, ...limits });
  const found = exitCode === 0 ? stdout.trim() : undefined;
  if (found !== undefined || path === undefined) return found ?? SH;
  const reason = `commands cannot run ${path} as a shell; name an installed one, with its folder in tools.shell.readable unless it is a system folder`;
  throw FleetError.ofKey('config.yaml tools.shell.path', reason);
}
