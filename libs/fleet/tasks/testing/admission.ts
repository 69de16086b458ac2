import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';
import type { Caller, RepoState } from '@hermes-fleet/protocol/ports';
import type { AdmissionInputs } from '../src/admission/checks.ts';

export const NOW = Date.parse('2026-05-31T20:00:00Z');

export const inputs: AdmissionInputs = {
  self: 'neo',
  versions: ['2.0'],
  now: NOW,
  model: { id: 'offline/runbook', tier: 'sonnet', contextWindow: 1_000 },
  tiers: ['haiku', 'sonnet', 'opus'],
  capabilities: ['terminal', 'file', 'patch'],
  mcp: { names: () => ['memory'], probe: async () => ({ state: 'ok', detail: '' }) },
  modelWatch: undefined,
  repoState: async () => ({ branch: 'main', clean: true }),
  countTokens: async (text) => text.length,
  minimumBudget: 200,
  shortage: () => undefined,
  queue: { full: false, waiting: 0 },
  ceilings: () => [],
};
export const dirty = async (): Promise<RepoState> => ({
  branch: 'wip',
  clean: false,
  uncommitted: '/app is dirty (branch wip; changed: a.txt)',
});
export const caller: Caller = { name: 'switch', scopes: new Set(['dispatch']) };
export type Extra = Partial<Omit<TaskDispatch, 'task'>> & { task?: Partial<TaskDispatch['task']> };
export const dispatchOf = ({ task, ...rest }: Extra = {}): TaskDispatch => ({
  type: 'TASK_DISPATCH',
  protocolVersion: '2.0',
  task: { taskId: 't-1', ...task },
  brief: 'do it',
  ...rest,
});
export const sick = (state: string, detail: string): Partial<AdmissionInputs> => ({
  mcp: { names: () => ['trek'], probe: async () => ({ state, detail }) },
});
export const asks = (name: string) => dispatchOf({ requirements: { requiredMcp: [name] } });
