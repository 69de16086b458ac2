import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';
import { integer, json, numberOf, type Queries, type Store, text } from '@hermes-fleet/store';
import type { LiveTasks } from './live-tasks.ts';
import type { TaskWrites } from './task-writes.ts';

/** The last save of this process, whether it was committed or not. */
interface LastSave {
  readonly number: number;
  readonly parts: readonly JsonValue[];
}

/**
 * The latest checkpoint of each running task. The growing field is stored as deltas: an element is not written again if
 * the previous save has the same object at the same index. The file counts the saves of a task: a save that was rolled
 * back or made by another process is never mistaken for the previous one.
 */
export function createCheckpoints(store: Pick<Store, 'read' | 'write'>, live: LiveTasks, writes: TaskWrites) {
  const lastSaves = new Map<string, LastSave>();
  return {
    load: (taskId: string): JsonObject | undefined =>
      store.read((db) =>
        live.findTask(taskId)?.belongings.has('checkpoint') === false
          ? undefined
          : findCheckpoint(db, taskId),
      ),
    save: async (taskId: string, state: JsonObject, growing?: string): Promise<void> => {
      const { rest, parts } = split(state, growing);
      await store.write(
        (db) => {
          const task = writes.get(db, taskId);
          if (!task.unfinished) return;
          const { n } = task;
          const saves = task.belongings.has('checkpoint')
            ? numberOf(db, 'SELECT saves FROM checkpoints WHERE task = ?', n)
            : 0;
          writes.stores(task, 'checkpoint');
          const last = lastSaves.get(taskId);
          replaceCheckpoint(db, n, saves + 1, rest, growing);
          replaceParts(db, n, parts, last?.number === saves ? last.parts : []);
          lastSaves.set(taskId, { number: saves + 1, parts });
        },
        () => live.stores(taskId, 'checkpoint'),
      );
    },
    /** Frees the memory of an ended task. */
    forget: (taskId: string): void => void lastSaves.delete(taskId),
  };
}

function split(
  state: JsonObject,
  growing: string | undefined,
): { readonly rest: JsonObject; readonly parts: readonly JsonValue[] } {
  if (growing === undefined) return { rest: state, parts: [] };
  const { [growing]: parts, ...rest } = state;
  if (!Array.isArray(parts)) throw new TypeError(`the field ${growing} of a checkpoint is not a list`);
  return { rest, parts: [...parts] };
}

function replaceCheckpoint(
  db: Queries,
  n: number,
  saves: number,
  rest: JsonObject,
  growing: string | undefined,
): void {
  db.run(
    `INSERT INTO checkpoints (task, state, growing, saves) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET state = excluded.state, growing = excluded.growing, saves = excluded.saves`,
    n,
    JSON.stringify(rest),
    growing ?? null,
    saves,
  );
}

function replaceParts(
  db: Queries,
  n: number,
  parts: readonly JsonValue[],
  stored: readonly JsonValue[],
): void {
  const unchanged = commonPrefix(stored, parts);
  db.run('DELETE FROM checkpoint_parts WHERE task = ? AND place >= ?', n, unchanged);
  for (const [index, part] of parts.slice(unchanged).entries())
    db.insert('checkpoint_parts', { task: n, place: unchanged + index, part: JSON.stringify({ part }) });
}

function commonPrefix(stored: readonly JsonValue[], parts: readonly JsonValue[]): number {
  const difference = parts.findIndex((part, index) => part !== stored[index]);
  return difference === -1 ? parts.length : difference;
}

function findCheckpoint(db: Queries, taskId: string): JsonObject | undefined {
  const row = db.get(
    'SELECT task, state, growing FROM checkpoints WHERE task = (SELECT n FROM tasks WHERE id = ?)',
    taskId,
  );
  if (row === undefined) return undefined;
  const rest = json(row, 'state');
  if (row.growing === null) return rest;
  const rows = db.all(
    'SELECT part FROM checkpoint_parts WHERE task = ? ORDER BY place',
    integer(row, 'task'),
  );
  return { ...rest, [text(row, 'growing')]: rows.map((each) => json(each, 'part').part ?? null) };
}
