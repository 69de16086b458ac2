import { type Queries, text } from '@hermes-fleet/store';
import { type TaskRecord, taskRecord } from './task-rows.ts';

/** A task with its parts. */
export interface Tree {
  readonly task: TaskRecord;
  readonly parts: readonly Tree[];
}

const MAX_NODES = 100;
const MAX_DEPTH = 16;
/** The most parts of one task. */
const MAX_PARTS = 50;

/** The tree of delegations below a task, at most a hundred tasks, the oldest parts first. */
export function treeOf(db: Queries, root: TaskRecord): Tree {
  const seen = new Set([root.n]);
  const grow = (task: TaskRecord, depth: number): Tree => {
    const parts: TaskRecord[] = [];
    if (depth < MAX_DEPTH) {
      for (const part of partsOf(db, task)) {
        if (seen.has(part.n) || seen.size >= MAX_NODES) continue;
        seen.add(part.n);
        parts.push(part);
      }
    }
    return { task, parts: parts.map((part) => grow(part, depth + 1)) };
  };
  return grow(root, 0);
}

/**
 * The tasks that a profile made of this one. A relayed one has the id of this task as its name; a part of an agent names
 * this one as its parent, or is named in the events of this one, where an older peer does not name its parent.
 */
function partsOf(db: Queries, task: TaskRecord): TaskRecord[] {
  const named = db
    .all(
      `SELECT DISTINCT json_extract(data, '$.part') AS part FROM events
       WHERE task = ? AND type = 'delegated' AND json_type(data, '$.part') = 'text' LIMIT ?`,
      ...[task.n, MAX_PARTS],
    )
    .map((row) => text(row, 'part'));
  return db
    .all(
      `SELECT * FROM tasks WHERE n IN (
         SELECT n FROM tasks WHERE task_id = ?1 AND caller = ?2
         UNION SELECT n FROM tasks WHERE task_id IN (SELECT value FROM json_each(?3)) AND caller = ?2
         UNION SELECT n FROM tasks WHERE parent_task_id = ?4 AND parent_profile = ?2 AND root_id IS ?5
           AND root_caller IS ?6)
       ORDER BY submitted_at, n LIMIT ?7`,
      ...[task.id, task.profile, JSON.stringify(named), task.taskId, task.rootId, task.rootCaller, MAX_PARTS],
    )
    .map(taskRecord);
}

/** The task that this one is a part of; undefined where it entered, and where its profile's events are not known. */
export function parentOf(db: Queries, task: TaskRecord): TaskRecord | undefined {
  const { parentProfile, parentTaskId, caller, taskId, rootCaller } = task;
  const row =
    db.get('SELECT * FROM tasks WHERE profile = ? AND id = ?', caller, taskId) ??
    (parentProfile === null || parentTaskId === null
      ? undefined
      : db.get(
          `SELECT * FROM tasks WHERE task_id = ?1 AND profile = ?2
           ORDER BY coalesce(root_caller, caller) IS ?3 DESC, submitted_at DESC LIMIT 1`,
          ...[parentTaskId, parentProfile, rootCaller],
        ));
  return row && taskRecord(row);
}

export const nodesOf = (tree: Tree): TaskRecord[] => [tree.task, ...tree.parts.flatMap(nodesOf)];
