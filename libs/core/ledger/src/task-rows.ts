import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { integer, json, type Queries, text } from '@hermes-fleet/store';
import { taskEvent, taskRecord } from './rows.ts';
import type { KnownTask, TaskEvent, TaskRecord } from './types.ts';

/** Selects every column of a TaskRecord, and `n`; a WHERE clause refers to the task as `t`, to its ending as `e`. */
export const SELECT_TASK = `
  SELECT t.n, t.id, t.context_id, t.caller, t.key, t.traceparent, t.created_at, t.dispatch_part, t.dispatch, t.message,
    coalesce(e.state, u.state) AS state, coalesce(e.resumes, u.resumes) AS resumes,
    coalesce(e.updated_at, u.updated_at) AS updated_at, e.result,
    coalesce(e.seq, (SELECT max(v.seq) FROM events v WHERE v.task = t.n)) AS last_seq, l.fields AS lineage
  FROM tasks t LEFT JOIN endings e ON e.task = t.n LEFT JOIN unfinished u ON u.task = t.n
    LEFT JOIN lineages l ON l.task = t.n`;

/** A task that was read, with its number in the file. */
export interface NumberedTask {
  readonly n: number;
  readonly record: TaskRecord;
}

export function notFound(taskId: string): FleetError {
  return new FleetError('TASK_NOT_FOUND', `task ${taskId} is not known`);
}

export function findTask(db: Queries, taskId: string): NumberedTask | undefined {
  const row = db.get(`${SELECT_TASK} WHERE t.id = ?`, taskId);
  return row && { n: integer(row, 'n'), record: taskRecord(row) };
}

/** Unfinished tasks, oldest first. */
export function unfinishedTasks(db: Queries): NumberedTask[] {
  return db
    .all(
      `${SELECT_TASK} WHERE t.n IN (SELECT task FROM unfinished) AND e.task IS NULL ORDER BY t.created_at, t.id`,
    )
    .map((row) => ({ n: integer(row, 'n'), record: taskRecord(row) }));
}

/** The number of a task in the file; undefined for an unknown one. */
export function findNumber(db: Queries, taskId: string): number | undefined {
  const row = db.get('SELECT n FROM tasks WHERE id = ?', taskId);
  return row && integer(row, 'n');
}

export const isUnfinished = (db: Queries, n: number): boolean =>
  db.get('SELECT 1 AS found FROM unfinished WHERE task = ?', n) !== undefined;

/** True if the task has ended; undefined for an unknown one. */
export function hasEnded(db: Queries, taskId: string): boolean | undefined {
  const n = findNumber(db, taskId);
  return n === undefined ? undefined : !isUnfinished(db, n);
}

/** The events of a task in order; a negative limit means all. */
export function findEvents(db: Queries, taskId: string, afterSeq: number, limit: number): TaskEvent[] {
  return db
    .all(
      `SELECT seq, ?1 AS task_id, type, at, data FROM events
       WHERE task = (SELECT n FROM tasks WHERE id = ?1) AND seq > ?2 ORDER BY seq LIMIT ?3`,
      taskId,
      afterSeq,
      limit,
    )
    .map(taskEvent);
}

/** See `Ledger.findByKey`. */
export function findByKey(db: Queries, caller: string, key: string): KnownTask | undefined {
  const bound = db.get(
    'SELECT id, fingerprint FROM tasks WHERE caller = ? AND key = ? AND fingerprint IS NOT NULL',
    caller,
    key,
  );
  const task = bound && findTask(db, text(bound, 'id'))?.record;
  return bound && task && { task, fingerprint: text(bound, 'fingerprint') };
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

/** The dispatch of the task was read: one of another version leaves the event `submitted` empty. */
const WAS_READ = `(SELECT data FROM events WHERE task = n ORDER BY seq LIMIT 1) <> '{}'`;

/** See `LedgerContexts.beginning`. */
export function findBeginning(db: Queries, contextId: string, caller: string): JsonObject | undefined {
  const row = db.get(
    `SELECT e.data FROM events e WHERE e.task = coalesce(
       (SELECT n FROM tasks WHERE context_id = ?1 AND caller = ?2 AND ${WAS_READ} ORDER BY n LIMIT 1),
       (SELECT n FROM tasks WHERE context_id = ?1 AND ${WAS_READ} LIMIT 1)) ORDER BY e.seq LIMIT 1`,
    contextId,
    caller,
  );
  return row && json(row, 'data');
}

/** See `LedgerContexts.latest`. */
export function findLatest(db: Queries, contextId: string, caller: string): JsonObject | undefined {
  const row = db.get(
    `SELECT e.data FROM events e
     WHERE e.task = (SELECT n FROM tasks WHERE context_id = ? AND caller = ? AND ${WAS_READ} ORDER BY n DESC LIMIT 1)
     ORDER BY e.seq LIMIT 1`,
    contextId,
    caller,
  );
  return row && json(row, 'data');
}

/** See `LedgerContexts.latestResults`. */
export function findLatestResults(
  db: Queries,
  contextId: string,
  caller: string,
  limit: number,
): JsonObject[] {
  return db
    .all(
      `SELECT e.seq, e.result FROM tasks t CROSS JOIN endings e ON e.task = t.n
       WHERE t.context_id = ? AND t.caller = ? ORDER BY t.n DESC LIMIT ?`,
      contextId,
      caller,
      limit,
    )
    .sort((a, b) => integer(b, 'seq') - integer(a, 'seq'))
    .flatMap((row) => (row.result === null ? [] : [json(row, 'result')]));
}
