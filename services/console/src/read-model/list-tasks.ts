import type { SQLInputValue } from 'node:sqlite';
import { integer, type Queries, text } from '@hermes-fleet/store';
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
  /** All that match. */
  readonly total: number;
  /** How many tasks of each state match the other filters. A state that no task has is left out. */
  readonly states: Readonly<Record<string, number>>;
}

/** Greater than every text that has the same beginning. */
const LAST = '\u{10FFFF}';

/** The tasks that match, the newest first. All filters are columns of one index, which a query reads alone. */
export function listTasks(db: Queries, query: TaskQuery): TaskList {
  const { state: wanted, before, limit } = query;
  const others = conditionsOf(query);
  const counted = db.all(
    `SELECT state, count(*) AS n FROM tasks INDEXED BY tasks_listed WHERE ${others.where} GROUP BY state`,
    ...others.values,
  );
  const states = Object.fromEntries(counted.map((row) => [text(row, 'state'), integer(row, 'n')]));
  const where = wanted ? `${others.where} AND state IN (SELECT value FROM json_each(?))` : others.where;
  const values = wanted ? [...others.values, JSON.stringify(wanted)] : others.values;
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
  const tasks = rows.slice(0, limit).map(taskRecord);
  const last = tasks.at(-1);
  const next = rows.length > limit && last ? { submittedAt: last.submittedAt, n: last.n } : undefined;
  const total = Object.entries(states)
    .filter(([state]) => wanted === undefined || wanted.includes(state))
    .reduce((sum, [, count]) => sum + count, 0);
  return { tasks, next, total, states };
}

const EQUAL = ['profile', 'peer', 'caller', 'reason', 'priority'] as const;

/** All conditions but that of the state. Their texts are few, so that the statements are prepared once. */
function conditionsOf(query: TaskQuery): { where: string; values: SQLInputValue[] } {
  const parts: string[] = [];
  const values: SQLInputValue[] = [];
  const add = (sql: string, ...more: SQLInputValue[]): void => {
    parts.push(sql);
    values.push(...more);
  };
  add('submitted_at >= ? AND submitted_at < ?', query.since ?? 0, query.until ?? Number.MAX_SAFE_INTEGER);
  if (!query.parts) add('entered = 1');
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
