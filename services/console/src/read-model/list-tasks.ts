import type { SQLInputValue } from 'node:sqlite';
import { integer, type Queries } from '@hermes-fleet/store';
import { type TaskRecord, taskRecord } from './task-rows.ts';

/** What `listTasks` selects; absent filters select all. Times are ms since the epoch. */
export interface TaskQuery {
  readonly state?: readonly string[] | undefined;
  readonly profile?: string | undefined;
  readonly peer?: string | undefined;
  readonly caller?: string | undefined;
  readonly reason?: string | undefined;
  readonly priority?: string | undefined;
  /** The beginning of an id, a task_id or a context_id. */
  readonly q?: string | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** True: also tasks that a member sent on. */
  readonly parts: boolean;
  readonly before?: ListCursor | undefined;
  readonly limit: number;
}

/** The place behind a row of the list. */
export interface ListCursor {
  readonly submittedAt: number;
  readonly n: number;
}

export interface TaskList {
  readonly tasks: readonly TaskRecord[];
  readonly next: ListCursor | undefined;
  /** All that match, counted up to `MAX_TOTAL`. */
  readonly total: number;
}

const MAX_TOTAL = 100_000;
/** Greater than every text that has the same beginning. */
const LAST = '\u{10FFFF}';

/** The tasks that match, the newest first. All filters are columns of one index, which a query reads alone. */
export function listTasks(db: Queries, query: TaskQuery): TaskList {
  const { where, values } = conditionsOf(query);
  const { before, limit } = query;
  const rows = db.all(
    `SELECT * FROM tasks WHERE n IN (
       SELECT n FROM tasks INDEXED BY tasks_listed
       WHERE ${where} ${before ? 'AND (submitted_at < ? OR (submitted_at = ? AND n < ?))' : ''}
       ORDER BY submitted_at DESC, n DESC LIMIT ?)
     ORDER BY submitted_at DESC, n DESC`,
    ...values,
    ...(before ? [before.submittedAt, before.submittedAt, before.n] : []),
    limit + 1,
  );
  const counted = db.get(
    `SELECT count(*) AS n FROM (SELECT 1 FROM tasks INDEXED BY tasks_listed WHERE ${where} LIMIT ${MAX_TOTAL})`,
    ...values,
  );
  const tasks = rows.slice(0, limit).map(taskRecord);
  const last = tasks.at(-1);
  const next = rows.length > limit && last ? { submittedAt: last.submittedAt, n: last.n } : undefined;
  return { tasks, next, total: integer(counted ?? {}, 'n') };
}

const EQUAL = ['profile', 'peer', 'caller', 'reason', 'priority'] as const;

/** The conditions, whose texts are few, so that the statements are prepared once. */
function conditionsOf(query: TaskQuery): { where: string; values: SQLInputValue[] } {
  const parts: string[] = [];
  const values: SQLInputValue[] = [];
  const add = (sql: string, ...more: SQLInputValue[]): void => {
    parts.push(sql);
    values.push(...more);
  };
  add('submitted_at >= ? AND submitted_at < ?', query.since ?? 0, query.until ?? Number.MAX_SAFE_INTEGER);
  if (!query.parts) add('entered = 1');
  if (query.state) add('state IN (SELECT value FROM json_each(?))', JSON.stringify(query.state));
  for (const name of EQUAL) {
    const wanted = query[name];
    if (wanted !== undefined) add(`${name} = ?`, wanted);
  }
  const { q } = query;
  if (q !== undefined) {
    const range = ['id', 'task_id', 'context_id'].map((name) => `(${name} >= ? AND ${name} < ?)`);
    add(`(${range.join(' OR ')})`, ...range.flatMap(() => [q, `${q}${LAST}`]));
  }
  return { where: parts.join(' AND '), values };
}
