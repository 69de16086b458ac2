import {
  type AgentConfig,
  anthropicAddress,
  modelKey,
  type OptionalPackage,
  parseModelName,
  type Runtime,
} from '@hermes-fleet/loop';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Confinement } from '@hermes-fleet/workspace';
import { runCommand } from '@hermes-fleet/workspace';
import type { ClaudeCodeOptions } from './claude-conversation.ts';
import { findClaudeSdk, loadClaudeSdk, SDK_VERSION } from './sdk.ts';

const ANTHROPIC = 'https://api.anthropic.com';
const PROBE_MS = 10_000;

/**
 * Resolves what `executor: claude-code` needs (docs/claude-code.md#setup): a model of Anthropic and its key, the optional
 * SDK, and a confinement that can read it; `notes` are lines for the start-up log. Throws CONFIG_INVALID with what to do when one is missing.
 */
export async function createClaudeCode(
  config: AgentConfig,
  options: Runtime & { readonly confinement: Confinement },
): Promise<ClaudeCodeOptions & { readonly notes: readonly string[] }> {
  const { env, confinement, ids } = options;
  const named = parseModelName(config.model);
  if (named?.provider !== 'anthropic')
    throw FleetError.ofKey(
      'config.yaml model',
      `claude-code needs a model of Anthropic; ${config.model} is not one: name anthropic/<name>`,
    );
  const found = await findClaudeSdk(env);
  if (confinement.method === 'none')
    throw FleetError.ofKey(
      'config.yaml executor',
      `claude-code does not run without a confinement; ${confinement.note}`,
    );
  await checkReadable(found, options);
  return {
    sdk: await loadClaudeSdk(found),
    upstream: anthropicAddress(config.base_url ?? ANTHROPIC),
    apiKey: modelKey(env, config.api_key_env ?? 'ANTHROPIC_API_KEY', config.model),
    modelName: named.name,
    modelInClaude: named.longContext ? `${named.name}[1m]` : named.name,
    countCache: config.budget.count_cache,
    ids,
    notes: notesOf(found, confinement),
  };
}

/** Throws CONFIG_INVALID when the commands' user cannot read the SDK. */
async function checkReadable(
  { entry }: OptionalPackage,
  { confinement, clock }: { readonly confinement: Confinement; readonly clock: Clock },
): Promise<void> {
  const line = confinement.wrap('/bin/sh', ['-c', 'test -r "$1"', 'sh', entry], {
    writable: [],
    readOnly: [],
  });
  const { exitCode } = await runCommand(line, { timeoutMs: PROBE_MS, clock });
  if (exitCode === 0) return;
  const reason = `commands cannot read ${entry}, so Claude Code could not start: let every user enter its folders (chmod o+x), or have the folder of the fleet where they may, e.g. below /opt`;
  throw FleetError.ofKey('config.yaml executor', reason);
}

function notesOf({ version }: OptionalPackage, { method }: Confinement): string[] {
  const how = method === 'unconfined' ? 'UNCONFINED' : `confined by ${method}`;
  const note = `tasks are carried out by Claude Code (SDK ${version}), ${how}, behind a metering proxy on loopback`;
  if (version === SDK_VERSION) return [note];
  return [
    note,
    `this executor was tested with release ${SDK_VERSION} of the Claude Agent SDK, not with ${version}`,
  ];
}
