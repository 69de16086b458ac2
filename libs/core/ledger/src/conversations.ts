import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { EarlierConversation } from '@hermes-fleet/protocol/ports';
import { integer, json, type Queries, text } from '@hermes-fleet/store';
import { dispatchOf } from './rows.ts';
import { findNumber } from './task-rows.ts';

/*
 * The conversations that ended tasks leave to the next task of the same context, caller and `task.conversation`
 * (docs/handshake.md#conversations). One is the growing list of the task's last checkpoint, which moves here in the
 * transaction of the task's end, because a conversation outlives the tasks of its caller.
 */

/** The maximum size of a conversation; the oldest messages beyond it are left out. */
const MAX_BYTES = 4 * 1024 * 1024;

/** The fields of a TASK_RESULT that say how a task ended, beside what its conversation says. */
const RESULT_FIELDS: ReadonlySet<string> = new Set(['status', 'error', 'remaining', 'next_steps']);

type Key = readonly [contextId: string, caller: string, name: string];
const OF_KEY = 'context_id = ? AND caller = ? AND name = ?';

/** See `Ledger.earlierConversation`. */
export function findConversation(db: Queries, taskId: string): EarlierConversation | undefined {
  const n = findNumber(db, taskId);
  const key = n === undefined ? undefined : keyOf(db, n);
  const row = key && db.get(`SELECT * FROM conversations WHERE ${OF_KEY}`, ...key);
  if (!row) return undefined;
  const parts = db
    .all('SELECT part FROM conversation_parts WHERE conversation = ? ORDER BY place', integer(row, 'id'))
    .map((each): JsonValue => json(each, 'part').part ?? null);
  return { messages: parts, isWhole: integer(row, 'is_whole') === 1, result: json(row, 'result') };
}

/**
 * Keeps the conversation of a task that ends, in place of the earlier one. A task that left none keeps the earlier one:
 * it was blocked, it saved no checkpoint with `keep_conversation: true`, or it came from an orchestrator that does not
 * say whose conversation it is.
 */
export function keepConversation(
  db: Queries,
  n: number,
  end: { readonly at: number; readonly type: string; readonly result: JsonObject | undefined },
): void {
  if (end.type === 'blocked') return;
  const kept = db.get(
    `SELECT 1 FROM checkpoints WHERE task = ? AND growing IS NOT NULL
     AND coalesce(json_extract(iif(json_valid(state), state, '{}'), '$.keep_conversation'), 0) = 1`,
    n,
  );
  const key = kept && keyOf(db, n);
  if (!key) return;
  db.run(`DELETE FROM conversations WHERE ${OF_KEY}`, ...key);
  const { first, bytes } = keptPart(db, n);
  const [context_id, caller, name] = key;
  const { rowid } = db.insert('conversations', {
    context_id,
    caller,
    name,
    ended_at: end.at,
    is_whole: first === 0 ? 1 : 0,
    bytes,
    result: JSON.stringify(endOf(end.result ?? {})),
  });
  db.run(
    `INSERT INTO conversation_parts (conversation, place, part)
     SELECT ?, place, part FROM checkpoint_parts WHERE task = ? AND place >= ?`,
    rowid,
    n,
    first,
  );
}

/** Erases the conversations of a context. */
export function eraseConversations(db: Queries, contextId: string): void {
  db.run('DELETE FROM conversations WHERE context_id = ?', contextId);
}

/** Removes up to `batch` conversations that ended before `before`, of contexts without a task. */
export function pruneConversations(db: Queries, before: number, batch: number): void {
  db.run(
    `DELETE FROM conversations WHERE id IN (
       SELECT c.id FROM conversations c WHERE c.ended_at < ?
         AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.context_id = c.context_id) LIMIT ?)`,
    before,
    batch,
  );
}

/** See `LedgerContexts.trimConversations`. */
export function trimConversations(db: Queries, maxBytes: number, batch: number): number {
  return db.run(
    `DELETE FROM conversations WHERE id IN (
       SELECT id FROM (SELECT id, ended_at, sum(bytes) OVER (ORDER BY ended_at DESC, id DESC) AS total FROM conversations)
       WHERE total > ? ORDER BY ended_at, id LIMIT ?)`,
    maxBytes,
    batch,
  ).changes;
}

/** Undefined for a task of many callers of an orchestrator, which may not share a conversation. */
function keyOf(db: Queries, n: number): Key | undefined {
  const row = db.get('SELECT context_id, caller, dispatch_part, dispatch, message FROM tasks WHERE n = ?', n);
  if (!row) return undefined;
  // Not json_extract: SQLite reads no JSON that is nested more than 1,000 deep.
  const { task } = dispatchOf(row, json(row, 'message'));
  const { conversation, path } = isJsonObject(task) ? task : {};
  const isOfMany = Array.isArray(path) && path.length > 0;
  if (typeof conversation !== 'string' && isOfMany) return undefined;
  const name = typeof conversation === 'string' ? conversation : '';
  return [text(row, 'context_id'), text(row, 'caller'), name];
}

/** The place of the oldest message that is kept (past the last one if the newest alone is too large), and the size from there. */
function keptPart(db: Queries, n: number): { readonly first: number; readonly bytes: number } {
  const row = db.get(
    `SELECT coalesce(min(place), (SELECT max(place) + 1 FROM checkpoint_parts WHERE task = ?1), 0) AS first,
       coalesce(max(bytes), 0) AS bytes
     FROM (SELECT place, sum(octet_length(part)) OVER (ORDER BY place DESC) AS bytes
           FROM checkpoint_parts WHERE task = ?1)
     WHERE bytes <= ?2`,
    n,
    MAX_BYTES,
  );
  return row ? { first: integer(row, 'first'), bytes: integer(row, 'bytes') } : { first: 0, bytes: 0 };
}

const endOf = (result: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(result).filter(([field]) => RESULT_FIELDS.has(field)));
