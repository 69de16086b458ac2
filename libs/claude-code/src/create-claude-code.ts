import type { AgentConfig } from '@hermes-fleet/agent';
import { anthropicAddress, modelKey, parseModelName } from '@hermes-fleet/agent';
import { type Clock, FleetError, type Ids } from '@hermes-fleet/protocol';
import type { Confinement } from '@hermes-fleet/workspace';
import { COMMAND_ENV, runCommand } from '@hermes-fleet/workspace';
import type { ClaudeCodeOptions } from './claude-conversation.ts';
import { type FoundSdk, findClaudeSdk, loadClaudeSdk, SDK_VARIABLE, SDK_VERSION } from './sdk.ts';

type Env = { read(name: string): string | undefined };

const ANTHROPIC = 'https://api.anthropic.com';
const PROBE_MS = 10_000;

export interface ClaudeCode extends ClaudeCodeOptions {
  /** Lines for the start-up log. */
  readonly notes: readonly string[];
}

/**
 * Directories that commands must be able to read beside the system's, for `createConfinement`: those of
 * `tools.shell.readable`, and with `executor: claude-code` the one that Claude Code lies in. CONFIG_INVALID when it is
 * not installed.
 */
export async function readableDirectories(config: AgentConfig, env: Env): Promise<string[]> {
  const { readable } = config.tools.shell;
  if (config.executor !== 'claude-code') return readable;
  return [...readable, (await findClaudeSdk(env)).readable];
}

/**
 * What `executor: claude-code` needs, or CONFIG_INVALID with what to do: a model of Anthropic's and its key, the optional
 * package, and a confinement in which it can be read (design 3, Claude Code executor).
 */
export async function createClaudeCode(
  config: AgentConfig,
  o: { readonly env: Env; readonly confinement: Confinement; readonly ids: Ids; readonly clock: Clock },
): Promise<ClaudeCode> {
  const named = parseModelName(config.model);
  if (named?.provider !== 'anthropic')
    throw invalid(
      'model',
      `claude-code needs a model of Anthropic's; ${config.model} is none: name anthropic/<name>`,
    );
  const found = await findClaudeSdk(o.env);
  if (o.confinement.method === 'none')
    throw invalid('executor', `claude-code runs confined or not at all; ${o.confinement.note}`);
  await checkReadable(found, o);
  return {
    sdk: await loadClaudeSdk(found),
    upstream: anthropicAddress(config.base_url ?? ANTHROPIC),
    apiKey: modelKey(o.env, config.api_key_env ?? 'ANTHROPIC_API_KEY', config.model),
    modelName: named.name,
    modelInClaude: named.longContext ? `${named.name}[1m]` : named.name,
    countCache: config.budget.count_cache,
    ids: o.ids,
    notes: notesOf(found, o.confinement),
  };
}

/** Whether the commands' user can read the package where it lies. */
async function checkReadable(
  { entry }: FoundSdk,
  { confinement, clock }: { readonly confinement: Confinement; readonly clock: Clock },
): Promise<void> {
  const line = confinement.wrap('/bin/sh', ['-c', 'test -r "$1"', 'sh', entry], {
    writable: [],
    readOnly: [],
  });
  const limits = { timeoutMs: PROBE_MS, keepBytes: 4096, maxBytes: 65_536, clock };
  const { exitCode } = await runCommand(line, { cwd: '/', env: COMMAND_ENV, ...limits });
  if (exitCode === 0) return;
  const reason = `commands cannot read ${entry}, so Claude Code could not start; install it where every user may read, e.g. below /opt, and set ${SDK_VARIABLE} to that folder`;
  throw invalid('executor', reason);
}

function notesOf({ version }: FoundSdk, { method }: Confinement): string[] {
  const how = method === 'unconfined' ? 'UNCONFINED' : `confined by ${method}`;
  const note = `tasks are carried out by Claude Code (SDK ${version}), ${how}, behind a metering proxy on loopback`;
  if (version === SDK_VERSION) return [note];
  return [
    note,
    `this executor was tested with release ${SDK_VERSION} of the Claude Agent SDK, not with ${version}`,
  ];
}

function invalid(field: string, reason: string): FleetError {
  return new FleetError('CONFIG_INVALID', `config.yaml ${field}: ${reason}`, {
    fields: [{ path: `config.yaml ${field}`, reason }],
  });
}
