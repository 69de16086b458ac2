import { claudeCode } from '@hermes-fleet/claude-code';
import { type ExecutorKind, type ExecutorProvider, loopExecutor } from '@hermes-fleet/loop';

/** What carries out the tasks of a profile, by `executor` of config.yaml (docs/agent.md#executors). */
export const EXECUTORS: Readonly<Record<ExecutorKind, ExecutorProvider>> = {
  loop: loopExecutor,
  'claude-code': claudeCode,
};
