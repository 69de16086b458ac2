import type { AdmittedTask, RunOutcome } from '@hermes-fleet/protocol/ports';
import type { Committed } from '@hermes-fleet/workspace';
import type { CommitConfig } from '../config/commit-config.ts';
import { commitMessage } from './commit-message.ts';

/**
 * Makes the messages of a task's commits. The trailer has the id with which `fleet diff` finds the task: that of the profile that
 * sent it on, if there is one.
 */
export function commitMessages({ id, dispatch: { task } }: AdmittedTask, config: CommitConfig) {
  const { trailers, sign_off, author } = config;
  const terms = {
    taskId: task.parent === undefined ? id : task.taskId,
    trailers,
    signOff: sign_off ? author : undefined,
  };
  return {
    of: (result: RunOutcome): string => commitMessage({ ...terms, result }),
    interrupted: (): string =>
      commitMessage({ ...terms, result: { status: 'partial', remaining: ['the task was interrupted'] } }),
  };
}

/** Says where the changed files are, and what is left to commit. */
export function withCommit(outcome: RunOutcome, { left, delivery }: Committed): RunOutcome {
  const hasChanges = outcome.artifacts.filesChanged.length > 0;
  const todos = left.flatMap(({ todo, certain }) => (certain || hasChanges ? [todo] : []));
  const artifacts = hasChanges && delivery ? { ...outcome.artifacts, delivery } : outcome.artifacts;
  return { ...outcome, artifacts, nextSteps: [...outcome.nextSteps, ...todos] };
}
