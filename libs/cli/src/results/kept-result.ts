import type { PeerTask } from '@hermes-fleet/a2a/client';
import { FleetError } from '@hermes-fleet/protocol';
import type { Target } from '../client/api.ts';
import type { Reachable } from '../running/reachable.ts';
import { deliveredResult } from '../task/result.ts';

/** The result of a task in the repository of a worker (docs/handshake.md#task_result, `artifacts.delivery`). */
export interface KeptResult {
  readonly target: Target;
  readonly taskId: string;
  readonly contextId: string;
  readonly branch: string;
  readonly commit: string;
  /** Null where there is no commit to compare with. */
  readonly base: string | null;
}

const COMMIT = /^[0-9a-f]{40}$/;

/** Throws NO_RESULT that says why a task has no commits, and what to do about it. */
export function keptResult({ at, task }: { readonly at: Reachable; readonly task: PeerTask }): KeptResult {
  const none = (why: string): FleetError => new FleetError('NO_RESULT', `task ${task.id} ${why}`);
  if (at.target === undefined)
    throw none(`is of an agent that is not of the fleet: fleet task ${task.id}${at.again} shows its answer`);
  if (!task.terminal) throw none(`has not ended: fleet watch ${task.id} waits for its result`);
  const result = deliveredResult(task);
  if (result === undefined) throw none('has no result that this release can read');
  const { filesChanged, delivery } = result.artifacts;
  if (delivery === undefined)
    throw none(filesChanged.length === 0 ? 'changed no files' : 'is of a release that names no commits');
  const { commit, base, branch } = delivery;
  if (commit === null) {
    const by = result.executedBy ?? at.name;
    throw none(`has no commit: its files are in the folder that ${by} works in, not committed`);
  }
  if (!COMMIT.test(commit) || (base !== null && !COMMIT.test(base)))
    throw new FleetError('PEER_REFUSED', `${at.name} names a commit of task ${task.id} that is none`);
  return { target: at.target, taskId: task.id, contextId: task.contextId, branch, commit, base };
}
