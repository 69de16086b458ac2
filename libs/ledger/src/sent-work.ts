import { type Queries, text } from '@hermes-fleet/store';
import type { SentWork } from './context-types.ts';

/**
 * A query of the work of tasks `t` that was sent to peers: reported when it was sent and while it was followed, and in the
 * result. `condition` selects the tasks; its parameter is bound twice.
 */
export const sentWorkQuery = (condition: string): string => `
  SELECT t.context_id, t.caller, json_extract(e.data, '$.peer') AS peer,
    json_type(e.data, '$.part') IS NOT NULL AS is_subtask
  FROM tasks t JOIN events e ON e.task_id = t.id
  WHERE ${condition} AND e.type IN ('delegated', 'progress') AND json_type(e.data, '$.peer') = 'text'
  UNION
  SELECT t.context_id, t.caller, json_extract(a.value, '$.peer'), 0
  FROM tasks t JOIN payloads p ON p.task_id = t.id, json_each(p.result, '$.attempts') a
  WHERE ${condition} AND json_type(a.value, '$.peer') = 'text'`;

/** See `LedgerContexts.sentBy`. */
export function findSentWork(db: Queries, taskId: string): SentWork[] {
  const rows = db.all(`${sentWorkQuery('t.id = ?')} ORDER BY peer, is_subtask`, taskId, taskId);
  return rows.map((row) => ({ peer: text(row, 'peer'), isSubtask: row.is_subtask === 1 }));
}
