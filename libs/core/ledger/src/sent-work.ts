import { oneOf, type Queries, type Row, text } from '@hermes-fleet/store';
import type { SentWork, SentWorkKind } from './context-types.ts';

const KINDS: Readonly<Record<SentWorkKind, true>> = { task: true, subtask: true, message: true };

/** SQLite fails at JSON that is nested more than 1,000 deep; such a value of a task or a peer names no work. */
const readable = (column: string): string => `iif(json_valid(${column}), ${column}, '{}')`;
const DATA = readable('e.data');

/**
 * A query of the work of tasks `t` that was sent to peers: reported when it was sent and while it was followed, and in the
 * result. Messages to A2A agents were reported when they were sent. `condition` selects the tasks; its parameter is `?1`.
 */
export const sentWorkQuery = (condition: string): string => `
  SELECT t.context_id, t.caller, json_extract(${DATA}, '$.peer') AS peer,
    iif(json_type(${DATA}, '$.part') IS NULL, 'task', 'subtask') AS kind,
    coalesce(json_extract(${DATA}, '$.part_context_id'), '') AS peer_context_id
  FROM tasks t JOIN events e ON e.task = t.n
  WHERE ${condition} AND e.type IN ('delegated', 'progress') AND json_type(${DATA}, '$.peer') = 'text'
  UNION
  SELECT t.context_id, t.caller, json_extract(a.value, '$.peer'), 'task', ''
  FROM tasks t JOIN endings n ON n.task = t.n, json_each(${readable('n.result')}, '$.attempts') a
  WHERE ${condition} AND json_type(a.value, '$.peer') = 'text'
  UNION
  SELECT t.context_id, t.caller, json_extract(${DATA}, '$.agent'), 'message', json_extract(${DATA}, '$.agent_context_id')
  FROM tasks t JOIN events e ON e.task = t.n
  WHERE ${condition} AND e.type = 'progress' AND json_type(${DATA}, '$.agent_context_id') = 'text'`;

/** See `LedgerContexts.sentBy`. */
export function findSentWork(db: Queries, taskId: string): SentWork[] {
  const query = `${sentWorkQuery('t.id = ?1')} ORDER BY peer, peer_context_id, kind DESC`;
  return db.all(query, taskId).map(sentWork);
}

/** A row of `sentWorkQuery`. */
export function sentWork(row: Row): SentWork {
  return {
    peer: text(row, 'peer'),
    kind: oneOf(row, 'kind', KINDS),
    contextId: text(row, 'peer_context_id') || undefined,
  };
}
