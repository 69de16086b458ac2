import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';
import { integer, json, type Queries, type Store, text } from '@hermes-fleet/store';
import { notFound } from './tasks.ts';
import type { Ledger } from './types.ts';

export interface Checkpoints {
  readonly load: Ledger['loadCheckpoint'];
  readonly save: Ledger['saveCheckpoint'];
  /** Frees the memory of an ended task. */
  forget(taskId: string): void;
}

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
export function createCheckpoints(store: Store): Checkpoints {
  const lastSaves = new Map<string, LastSave>();
  return {
    load: (taskId) => store.read((db) => findCheckpoint(db, taskId)),
    save: async (taskId, state, growing) => {
      const { rest, parts } = split(state, growing);
      await store.write((db) => {
        const saves = savesOf(db, taskId);
        if (saves === undefined) return;
        const last = lastSaves.get(taskId);
        replaceCheckpoint(db, taskId, saves + 1, rest, growing);
        replaceParts(db, taskId, parts, last?.number === saves ? last.parts : []);
        lastSaves.set(taskId, { number: saves + 1, parts });
      });
    },
    forget: (taskId) => void lastSaves.delete(taskId),
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

/** The number of saves of a task; undefined for an ended task, which gets no checkpoint. */
function savesOf(db: Queries, taskId: string): number | undefined {
  const row = db.get(
    `SELECT t.ended_seq, coalesce(c.saves, 0) AS saves
     FROM tasks t LEFT JOIN checkpoints c ON c.task_id = t.id WHERE t.id = ?`,
    taskId,
  );
  if (row === undefined) throw notFound(taskId);
  return row.ended_seq === null ? integer(row, 'saves') : undefined;
}

function replaceCheckpoint(
  db: Queries,
  taskId: string,
  saves: number,
  rest: JsonObject,
  growing: string | undefined,
): void {
  db.run(
    `INSERT INTO checkpoints (task_id, state, growing, saves) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET state = excluded.state, growing = excluded.growing, saves = excluded.saves`,
    taskId,
    JSON.stringify(rest),
    growing ?? null,
    saves,
  );
}

function replaceParts(
  db: Queries,
  taskId: string,
  parts: readonly JsonValue[],
  stored: readonly JsonValue[],
): void {
  const unchanged = commonPrefix(stored, parts);
  db.run('DELETE FROM checkpoint_parts WHERE task_id = ? AND place >= ?', taskId, unchanged);
  for (const [index, part] of parts.slice(unchanged).entries()) {
    const sql = 'INSERT INTO checkpoint_parts (task_id, place, part) VALUES (?, ?, ?)';
    db.run(sql, taskId, unchanged + index, JSON.stringify({ part }));
  }
}

function commonPrefix(stored: readonly JsonValue[], parts: readonly JsonValue[]): number {
  const difference = parts.findIndex((part, index) => part !== stored[index]);
  return difference === -1 ? parts.length : difference;
}

function findCheckpoint(db: Queries, taskId: string): JsonObject | undefined {
  const row = db.get('SELECT state, growing FROM checkpoints WHERE task_id = ?', taskId);
  if (row === undefined) return undefined;
  const rest = json(row, 'state');
  if (row.growing === null) return rest;
  const rows = db.all('SELECT part FROM checkpoint_parts WHERE task_id = ? ORDER BY place', taskId);
  return { ...rest, [text(row, 'growing')]: rows.map((each) => json(each, 'part').part ?? null) };
}
