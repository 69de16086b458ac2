import { FleetError } from '@hermes-fleet/protocol';

/** What a task in place starts from: a commit where it is to be committed, else a tree of the files' contents. */
export const inPlaceBase = (kind: 'commit' | 'tree', id: string): string => `${id}^{${kind}}`;

/** Whether a checkpoint's base is of a task in place; one in a worktree has a bare id. */
export const isInPlaceBase = (base: string): boolean => /\^\{(?:commit|tree)\}$/.test(base);

/** The base of a task that is to be committed at its end. */
export const isCommitBase = (base: string): boolean => base.endsWith('^{commit}');

/** An interrupted task must not go on in a tree without its work, and with that of somebody else. */
export const startedElsewhere = (where: string): FleetError =>
  new FleetError(
    'CONFIG_INVALID',
    `workspace.isolation was changed while the task was interrupted: its work is in ${where}; look there, then dispatch what is missing under a new task_id`,
    { retryable: false },
  );
