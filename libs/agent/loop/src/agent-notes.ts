import type { Confinement } from '@hermes-fleet/workspace';
import type { AgentConfig } from './config/config-yaml.ts';
import { type ExecutorRules, valueAt } from './config/executor-rules.ts';
import { exposedKey } from './config/signing-key.ts';
import type { AgentModel } from './model/create-model.ts';

/** Lines for the start-up log: what the configuration means for the work of an agent. */
export function notesOf(
  handler: 'agent' | 'llm' | 'echo',
  config: AgentConfig,
  { ignores }: ExecutorRules,
  confinement: Confinement,
  model: AgentModel | undefined,
): string[] {
  const notes = ignoredKeyNotes(config, ignores);
  if (handler === 'agent') {
    notes.push(
      config.tools.shell.enabled ? confinement.note : 'shell_exec is off (tools.shell.enabled: false)',
    );
  }
  notes.push(...[exposedKey(config)].filter((note) => note !== undefined));
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

/** Accepted keys that have no effect, with the replacement (docs/configuration.md#configyaml). */
const IGNORED = {
  defaultAgent: 'the profile is the agent: its folder holds IDENTITY.md',
  'a2a.port': 'fleet.server.bind_port of fleet.yaml is the port',
  'tools.tasks': 'tasks come over A2A, and are kept in the ledger',
  'tools.introspection': 'the prompt describes the environment, and metrics show the rest',
  'tools.models': '`model` names the one model of a profile',
};

function ignoredKeyNotes(config: AgentConfig, byExecutor: ExecutorRules['ignores']): string[] {
  const byModel =
    config.model === 'offline/runbook' ? { effort: 'only a model that is called can be told' } : {};
  return Object.entries({ ...byModel, ...byExecutor, ...IGNORED })
    .filter(([key]) => valueAt(config, key) !== undefined)
    .map(([key, instead]) => `config.yaml ${key} has no effect here: ${instead}`);
}
