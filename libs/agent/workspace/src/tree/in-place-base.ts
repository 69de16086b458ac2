import { FleetError } from '@hermes-fleet/protocol';

/** Base of a task in place: a commit when its work will be committed, else a tree of the files' contents. */
export const inPlaceBase = (kind: 'commit' | 'tree', id: string): string => `${id}^{${kind}}`;

/** True for a base in a checkpoint of a task in place; a task in a context's repository has a bare id. */
export const isInPlaceBase = (base: string): boolean => /\^\{(?:commit|tree)\}$/.test(base);

/** True for the base of a task whose work is committed at its end. */
export const isCommitBase = (base: string): boolean => base.endsWith('^{commit}');

/** An interrupted task must not continue in a tree that lacks its work or holds another task's. */
export const startedElsewhere = (where: string): FleetError =>
  new FleetError(
    'CONFIG_INVALID',
    `workspace.isolation was changed while the task was interrupted: its work is in ${where}; look there, then dispatch what is missing under a new task_id`,
    { retryable: false },
  );
