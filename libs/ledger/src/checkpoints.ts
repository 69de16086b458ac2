import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';
import { integer, json, type Queries, type Store, text } from '@hermes-fleet/store';
import { notFound } from './tasks.ts';
import type { Ledger } from './types.ts';

export interface Checkpoints {
  readonly load: Ledger['loadCheckpoint'];
  readonly save: Ledger['saveCheckpoint'];
  /** Forgets what is known of a task that has ended. */
  forget(taskId: string): void;
}

/** A save as it was written last by this process, be it committed or not: the file says whether it is there. */
interface Written {
  readonly nth: number;
  readonly parts: readonly JsonValue[];
}

/**
 * The newest checkpoint of each task that runs, its growing field stored as deltas (design 1, Decisions): an element
 * that the save before had at the same place, as the same object, is there already. The saves of a task are counted in
 * the file, so that a save which was rolled back, or which another process made, is never taken for the one before.
 */
export function createCheckpoints(store: Store): Checkpoints {
  const written = new Map<string, Written>();
  return {
    load: (taskId) => store.read((db) => findCheckpoint(db, taskId)),
    save: async (taskId, state, growing) => {
      const { rest, parts } = split(state, growing);
      await store.write((db) => {
        const before = savesOf(db, taskId);
        if (before === undefined) return;
        const known = written.get(taskId);
        replaceCheckpoint(db, taskId, before + 1, rest, growing);
        replaceParts(db, taskId, parts, known?.nth === before ? known.parts : []);
        written.set(taskId, { nth: before + 1, parts });
      });
    },
    forget: (taskId) => void written.delete(taskId),
  };
}

function split(
  state: JsonObject,
  growing: string | undefined,
): { readonly rest: JsonObject; readonly parts: readonly JsonValue[] } {
  if (growing === undefined) return { rest: state, parts: [] };
  const { [growing]: parts, ...rest } = state;
  if (!Array.isArray(parts)) throw new TypeError(`the field ${growing} of a checkpoint is no list`);
  return { rest, parts: [...parts] };
}

/** How often the task was saved; undefined for one that has ended, which needs no checkpoint, and gets none. */
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
  nth: number,
  rest: JsonObject,
  growing: string | undefined,
): void {
  db.run(
    `INSERT INTO checkpoints (task_id, state, growing, saves) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET state = excluded.state, growing = excluded.growing, saves = excluded.saves`,
    taskId,
    JSON.stringify(rest),
    growing ?? null,
    nth,
  );
}

function replaceParts(
  db: Queries,
  taskId: string,
  parts: readonly JsonValue[],
  known: readonly JsonValue[],
): void {
  const same = samePrefix(known, parts);
  db.run('DELETE FROM checkpoint_parts WHERE task_id = ? AND place >= ?', taskId, same);
  for (const [index, part] of parts.slice(same).entries()) {
    const sql = 'INSERT INTO checkpoint_parts (task_id, place, part) VALUES (?, ?, ?)';
    db.run(sql, taskId, same + index, JSON.stringify({ part }));
  }
}

function samePrefix(known: readonly JsonValue[], parts: readonly JsonValue[]): number {
  const differs = parts.findIndex((part, place) => part !== known[place]);
  return differs === -1 ? parts.length : differs;
}

function findCheckpoint(db: Queries, taskId: string): JsonObject | undefined {
  const row = db.get('SELECT state, growing FROM checkpoints WHERE task_id = ?', taskId);
  if (row === undefined) return undefined;
  const rest = json(row, 'state');
  if (row.growing === null) return rest;
  const rows = db.all('SELECT part FROM checkpoint_parts WHERE task_id = ? ORDER BY place', taskId);
  return { ...rest, [text(row, 'growing')]: rows.map((each) => json(each, 'part').part ?? null) };
}
