import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { json, type Queries, text } from '@hermes-fleet/store';
import type { KeptCheckpoint } from './types.ts';

/*
 * Late results: a peer may go on with a task after the task's end here (docs/handshake.md#late-results). The checkpoint of
 * such a task is kept after the end; the result that comes late takes its place.
 */

const IS_KEPT = "coalesce(json_extract(checkpoints.state, '$.keep_after_end'), 0) = 1";

/** Removes the checkpoint of a task that ends, unless it is to be kept. */
export function dropCheckpoint(db: Queries, taskId: string): void {
  db.run(`DELETE FROM checkpoints WHERE task_id = ? AND NOT ${IS_KEPT}`, taskId);
}

export function findKeptCheckpoints(db: Queries): KeptCheckpoint[] {
  return db
    .all(
      `SELECT task_id, checkpoints.state FROM checkpoints JOIN tasks t ON t.id = task_id
       WHERE t.ended_seq IS NOT NULL AND ${IS_KEPT} ORDER BY t.ended_seq`,
    )
    .map((row) => ({ taskId: text(row, 'task_id'), state: json(row, 'state') }));
}

/** True if the checkpoint was kept. */
export function replaceByLateResult(db: Queries, taskId: string, result: JsonObject): boolean {
  const { changes } = db.run(
    `UPDATE checkpoints SET state = ? WHERE task_id = ? AND ${IS_KEPT}
     AND EXISTS (SELECT 1 FROM tasks WHERE id = task_id AND ended_seq IS NOT NULL)`,
    JSON.stringify({ late_result: result }),
    taskId,
  );
  return changes === 1;
}

/** True if the task has ended, and a peer may still be doing it. */
export function isKept(db: Queries, taskId: string): boolean {
  return (
    db.get(
      `SELECT 1 FROM checkpoints JOIN tasks t ON t.id = task_id
       WHERE task_id = ? AND t.ended_seq IS NOT NULL AND ${IS_KEPT}`,
      taskId,
    ) !== undefined
  );
}

/** True if there was one. */
export function dropKeptCheckpoint(db: Queries, taskId: string): boolean {
  const { changes } = db.run(
    `DELETE FROM checkpoints WHERE task_id = ? AND ${IS_KEPT}
     AND EXISTS (SELECT 1 FROM tasks WHERE id = task_id AND ended_seq IS NOT NULL)`,
    taskId,
  );
  return changes > 0;
}

export function findLateResult(db: Queries, taskId: string): JsonObject | undefined {
  const row = db.get(
    `SELECT c.state FROM checkpoints c JOIN tasks t ON t.id = c.task_id
     WHERE c.task_id = ? AND t.ended_seq IS NOT NULL`,
    taskId,
  );
  const late = row && json(row, 'state').late_result;
  return isJsonObject(late) ? late : undefined;
}
