import type { Confinement } from '@hermes-fleet/workspace';
import { type AgentConfig, mcpServerNotes } from './config/config.ts';
import { ignoredKeyNotes } from './config/ignored-keys.ts';
import type { AgentModel } from './model/create-model.ts';

/** Lines for the start-up log: what the configuration means for the work of an agent. */
export function notesOf(
  handler: 'agent' | 'llm' | 'echo',
  config: AgentConfig,
  confinement: Confinement,
  model: AgentModel | undefined,
): string[] {
  const notes = [...ignoredKeyNotes(config), ...(handler === 'agent' ? mcpServerNotes(config) : [])];
  if (handler === 'agent') {
    notes.push(
      config.tools.shell.enabled ? confinement.note : 'shell_exec is off (tools.shell.enabled: false)',
    );
  }
  if (config.workspace.isolation === 'in_place') notes.push(IN_PLACE);
  if (model?.info.id === 'offline/runbook') {
    notes.push(
      'no model is configured: offline/runbook carries out what a brief spells out, and nothing else',
    );
  }
  return notes;
}

const IN_PLACE =
  'tasks work in place: nothing keeps one from reading, changing or destroying the work of others and the repository itself (workspace.isolation: worktree does)';
