import { integer, type Queries, type Row } from '@hermes-fleet/store';
import { type TaskRecord, taskRecord } from './task-rows.ts';

/** A task with its parts, of which a tree has what its reader needs. */
export interface Tree<T = TaskRecord> {
  readonly task: T;
  readonly parts: readonly Tree<T>[];
}

/** The columns that are read of each part. */
export interface Part<T> {
  /** A list of columns of `tasks`. */
  readonly columns: string;
  readonly read: (row: Row) => T;
}

/** All that is known of a part. */
export const WHOLE_PART: Part<TaskRecord> = { columns: 'tasks.*', read: taskRecord };

interface Numbered {
  readonly n: number;
}

/** The most tasks of one tree. */
const MAX_NODES = 100;
const MAX_DEPTH = 16;
/** The most parts of one task. */
const MAX_PARTS = 50;

/** The trees of delegations below some tasks, each of at most a hundred tasks, the oldest parts first. */
export function treesOf<T extends Numbered>(db: Queries, roots: readonly T[], part: Part<T>): Tree<T>[] {
  const trees = roots.map((task): Growing<T> => ({ task, parts: [], seen: new Set([task.n]) }));
  let level = trees;
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth += 1) {
    const numbers = level.map(({ task }) => task.n);
    const parts = partsOf(db, numbers, part);
    level = level.flatMap((node) => grow(node, parts.get(node.task.n) ?? []));
  }
  return trees;
}

/** A tree in the making; all its nodes share the numbers of the tasks that it has. */
interface Growing<T> extends Tree<T> {
  readonly parts: Growing<T>[];
  readonly seen: Set<number>;
}

/** Adds the parts of a node that its tree has room for, and returns them. */
function grow<T extends Numbered>({ parts, seen }: Growing<T>, found: readonly T[]): Growing<T>[] {
  for (const task of found) {
    if (seen.has(task.n) || seen.size >= MAX_NODES) continue;
    seen.add(task.n);
    parts.push({ task, parts: [], seen });
  }
  return parts;
}

/**
 * The tasks that the profiles of some tasks made of them, by the number of the task. A relayed one has the id of its task
 * as its name; a part of an agent names its task as its parent, or is named in the events of its task, where it
 * does not name its parent.
 */
function partsOf<T>(db: Queries, tasks: readonly number[], { columns, read }: Part<T>): Map<number, T[]> {
  const parts = new Map<number, T[]>();
  const rows = db.all(
    `WITH whole AS (SELECT * FROM tasks WHERE n IN (SELECT value FROM json_each(?1)))
     SELECT ranked.whole, ${columns} FROM (
       SELECT found.whole, found.part,
         row_number() OVER (PARTITION BY found.whole ORDER BY tasks.submitted_at, tasks.n) AS nth
       FROM (
       SELECT whole.n AS whole, part.n AS part
         FROM whole CROSS JOIN tasks part ON part.task_id = whole.id AND part.caller = whole.profile
       UNION SELECT whole.n, part.n
         FROM whole CROSS JOIN events INDEXED BY events_delegated
           ON events.task = whole.n AND events.type = 'delegated' AND json_type(events.data, '$.part') = 'text'
         CROSS JOIN tasks part ON part.task_id = json_extract(events.data, '$.part') AND part.caller = whole.profile
       UNION SELECT whole.n, part.n
         FROM whole CROSS JOIN tasks part ON part.parent_task_id = whole.task_id AND part.parent_profile = whole.profile
           AND part.root_id IS whole.root_id AND part.root_caller IS whole.root_caller
       ) found CROSS JOIN tasks ON tasks.n = found.part) ranked
     CROSS JOIN tasks ON tasks.n = ranked.part WHERE ranked.nth <= ?2 ORDER BY tasks.submitted_at, tasks.n`,
    JSON.stringify([...new Set(tasks)]),
    MAX_PARTS,
  );
  for (const row of rows) {
    const whole = integer(row, 'whole');
    const known = parts.get(whole);
    if (known) known.push(read(row));
    else parts.set(whole, [read(row)]);
  }
  return parts;
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
