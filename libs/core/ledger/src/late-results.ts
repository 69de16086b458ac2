import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { json, type Queries, text } from '@hermes-fleet/store';
import type { KeptCheckpoint } from './types.ts';

/*
 * Late results: a peer may go on with a task after the task's end here (docs/handshake.md#late-results). The checkpoint of
 * such a task is kept after the end; the result that comes late takes its place.
 */

/** SQLite fails at JSON that is nested more than 1,000 deep. */
const IS_KEPT = `coalesce(json_extract(iif(json_valid(checkpoints.state), checkpoints.state, '{}'), '$.keep_after_end'), 0) = 1`;
/** The checkpoint belongs to the task, which has ended; the parameter is the task's id. */
const IS_ENDED =
  'checkpoints.task = (SELECT e.task FROM endings e WHERE e.task = (SELECT n FROM tasks WHERE id = ?))';

/** Removes the checkpoint of a task that ends, unless it is to be kept. */
export function dropCheckpoint(db: Queries, n: number): void {
  db.run(`DELETE FROM checkpoints WHERE task = ? AND NOT ${IS_KEPT}`, n);
}

export function findKeptCheckpoints(db: Queries): KeptCheckpoint[] {
  return db
    .all(
      `SELECT t.id, checkpoints.state FROM checkpoints JOIN tasks t ON t.n = checkpoints.task
         JOIN endings e ON e.task = checkpoints.task
       WHERE ${IS_KEPT} ORDER BY e.seq`,
    )
    .map((row) => ({ taskId: text(row, 'id'), state: json(row, 'state') }));
}

/** True if the checkpoint was kept. */
export function replaceByLateResult(db: Queries, taskId: string, result: JsonObject): boolean {
  const sql = `UPDATE checkpoints SET state = ? WHERE ${IS_ENDED} AND ${IS_KEPT}`;
  return db.run(sql, JSON.stringify({ late_result: result }), taskId).changes === 1;
}

/** True if the task has ended, and a peer may still be doing it. */
export function isKept(db: Queries, taskId: string): boolean {
  return db.get(`SELECT 1 FROM checkpoints WHERE ${IS_ENDED} AND ${IS_KEPT}`, taskId) !== undefined;
}

/** True if an ended task, by its number, has a checkpoint: then it is kept. */
export function hasCheckpoint(db: Queries, n: number): boolean {
  return db.get('SELECT 1 FROM checkpoints WHERE task = ?', n) !== undefined;
}

/** True if there was one. */
export function dropKeptCheckpoint(db: Queries, taskId: string): boolean {
  return db.run(`DELETE FROM checkpoints WHERE ${IS_ENDED} AND ${IS_KEPT}`, taskId).changes > 0;
}

export function findLateResult(db: Queries, taskId: string): JsonObject | undefined {
  const row = db.get(`SELECT state FROM checkpoints WHERE ${IS_ENDED}`, taskId);
  const late = row && json(row, 'state').late_result;
  return isJsonObject(late) ? late : undefined;
}
