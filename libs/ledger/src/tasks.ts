import { type Clock, FleetError, TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import { type Queries, text } from '@hermes-fleet/store';
import { rememberCallers } from './context-callers.ts';
import { assertNotDeleting } from './context-deletions.ts';
import { keepConversation, pruneConversations } from './conversations.ts';
import { utcDay } from './figures.ts';
import { dropCheckpoint } from './late-results.ts';
import { taskEvent, taskRecord, taskState } from './rows.ts';
import { stateAfter } from './states.ts';
import type { KnownTask, NewEvent, NewTask, TaskChange, TaskEvent, TaskRecord } from './types.ts';

/** Selects every column of a TaskRecord; a WHERE clause refers to the task as `t`. */
export const SELECT_TASK = `
  SELECT t.*, p.message, p.dispatch, p.result,
    (SELECT max(e.seq) FROM events e WHERE e.task_id = t.id) AS last_seq
  FROM tasks t JOIN payloads p ON p.task_id = t.id`;

export function notFound(taskId: string): FleetError {
  return new FleetError('TASK_NOT_FOUND', `task ${taskId} is not known`);
}

export function findTask(db: Queries, taskId: string): TaskRecord | undefined {
  const row = db.get(`${SELECT_TASK} WHERE t.id = ?`, taskId);
  return row && taskRecord(row);
}

export function unfinishedTasks(db: Queries): TaskRecord[] {
  return db.all(`${SELECT_TASK} WHERE t.ended_seq IS NULL ORDER BY t.created_at, t.id`).map(taskRecord);
}

/** The seq of the task's terminal event; null without one, undefined for an unknown task. */
export function endedSeq(db: Queries, taskId: string): number | null | undefined {
  const seq = db.get('SELECT ended_seq FROM tasks WHERE id = ?', taskId)?.ended_seq;
  return typeof seq === 'number' || seq === null ? seq : undefined;
}

/** The events of a task in order; a negative limit means all. */
export function findEvents(db: Queries, taskId: string, afterSeq: number, limit: number): TaskEvent[] {
  return db
    .all('SELECT * FROM events WHERE task_id = ? AND seq > ? ORDER BY seq LIMIT ?', taskId, afterSeq, limit)
    .map(taskEvent);
}

function insertEvent(db: Queries, taskId: string, at: number, event: NewEvent): TaskEvent {
  const { rowid } = db.run(
    'INSERT INTO events (task_id, type, at, data) VALUES (?, ?, ?, ?)',
    taskId,
    event.type,
    at,
    JSON.stringify(event.data),
  );
  return { seq: rowid, taskId, type: event.type, at, data: event.data };
}

/** See `Ledger.findByKey`. */
export function findByKey(db: Queries, caller: string, key: string): KnownTask | undefined {
  const bound = db.get(
    'SELECT fingerprint, task_id FROM idempotency WHERE caller = ? AND key = ?',
    caller,
    key,
  );
  const task = bound && findTask(db, text(bound, 'task_id'));
  return bound && task && { task, fingerprint: text(bound, 'fingerprint') };
}

/** The transaction of `Ledger.accept`; `submitted` is set for a new task. */
export function acceptTask(
  db: Queries,
  clock: Clock,
  task: NewTask,
): { readonly task: TaskRecord; readonly submitted?: TaskEvent } {
  const known = findByKey(db, task.caller, task.key);
  if (known) {
    if (known.fingerprint !== task.fingerprint) throw conflict(task.key);
    return { task: known.task };
  }
  const now = clock.now();
  if (task.acceptUntil !== undefined && now > task.acceptUntil) throw expired(now - task.acceptUntil);
  assertNotDeleting(db, task.contextId);
  db.run(
    `INSERT INTO tasks (id, context_id, caller, key, traceparent, state, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, 'submitted', ?, ?)`,
    task.id,
    task.contextId,
    task.caller,
    task.key,
    task.traceparent ?? null,
    now,
    now,
  );
  const { message, dispatch } = task;
  db.run(
    'INSERT INTO payloads (task_id, message, dispatch) VALUES (?, ?, ?)',
    task.id,
    JSON.stringify(message),
    JSON.stringify(dispatch),
  );
  db.run(
    'INSERT INTO idempotency (caller, key, fingerprint, task_id) VALUES (?, ?, ?, ?)',
    task.caller,
    task.key,
    task.fingerprint,
    task.id,
  );
  const submitted = insertEvent(db, task.id, now, { type: 'submitted', data: {} });
  const { id, contextId, caller, key } = task;
  const record: TaskRecord = {
    id,
    contextId,
    caller,
    key,
    message,
    dispatch,
    state: 'submitted',
    result: undefined,
    resumes: 0,
    createdAt: now,
    updatedAt: now,
    lastSeq: submitted.seq,
    ...(task.traceparent === undefined ? {} : { traceparent: task.traceparent }),
  };
  return { task: record, submitted };
}

function expired(lateMs: number): FleetError {
  const message = `the dispatch was read ${lateMs} ms after its routing.accept_until: nothing was started; send it again with a later one`;
  return new FleetError('DISPATCH_EXPIRED', message);
}

function conflict(key: string): FleetError {
  const reason = `task_id "${key}" was used for another payload; use a new one`;
  return new FleetError('TASK_ID_CONFLICT', reason, { fields: [{ path: 'task.task_id', reason }] });
}

/** The transaction of `Ledger.append`. A text delta does not update the task. */
export function appendEvent(
  db: Queries,
  clock: Clock,
  taskId: string,
  event: NewEvent,
  change: TaskChange | undefined,
): TaskEvent | undefined {
  const row = db.get('SELECT state, ended_seq FROM tasks WHERE id = ?', taskId);
  if (!row) throw notFound(taskId);
  if (row.ended_seq !== null) return undefined;
  const state = stateAfter(taskState(row), event, change);
  const appended = insertEvent(db, taskId, clock.now(), event);
  if (event.type === 'text' && change === undefined) return appended;
  const terminal = TERMINAL_EVENTS.has(event.type);
  db.run(
    `UPDATE tasks SET state = ?, resumes = coalesce(?, resumes), updated_at = ?, ended_seq = ? WHERE id = ?`,
    state,
    change?.resumes ?? null,
    appended.at,
    terminal ? appended.seq : null,
    taskId,
  );
  if (change?.result) {
    db.run('UPDATE payloads SET result = ? WHERE task_id = ?', JSON.stringify(change.result), taskId);
  }
  if (terminal) {
    keepConversation(db, taskId, { at: appended.at, type: event.type, result: change?.result });
    dropCheckpoint(db, taskId);
  }
  if (event.type === 'blocked') db.run('DELETE FROM idempotency WHERE task_id = ?', taskId);
  return appended;
}

/** See `Ledger.contextIds`. */
export function findContextIds(db: Queries, after: string, limit: number): string[] {
  return db
    .all(
      'SELECT DISTINCT context_id FROM tasks WHERE context_id > ? ORDER BY context_id LIMIT ?',
      after,
      limit,
    )
    .map((row) => text(row, 'context_id'));
}

export const hasContext = (db: Queries, contextId: string): boolean =>
  db.get('SELECT 1 AS known FROM tasks WHERE context_id = ? LIMIT 1', contextId) !== undefined;

/**
 * Removes up to `batch` ended tasks that were last updated before `before` (ms since the epoch), with all their rows,
 * remembers their callers, and returns their ids; also removes the spending of the days before that time, and conversations
 * of contexts without tasks that ended before it. The terminal
 * event is a task's last: at or below the cursor, all events of the task are published.
 */
export function pruneTasks(db: Queries, clock: Clock, before: number, batch: number): string[] {
  db.run('DELETE FROM spending WHERE day < ?', utcDay(before));
  const ids = db
    .all(
      `SELECT id FROM tasks
       WHERE updated_at < ? AND ended_seq <= (SELECT cursor FROM outbox)
       ORDER BY updated_at, id LIMIT ?`,
      before,
      batch,
    )
    .map((row) => text(row, 'id'));
  const pruned = JSON.stringify(ids);
  rememberCallers(db, clock.now(), 't.id IN (SELECT value FROM json_each(?1))', pruned);
  db.run('DELETE FROM tasks WHERE id IN (SELECT value FROM json_each(?))', pruned);
  pruneConversations(db, before, batch);
  return ids;
}
