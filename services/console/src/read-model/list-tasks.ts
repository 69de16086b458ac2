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
  /** The number of tasks that match; if `isCounted` is false, there are more. */
  readonly total: number;
  readonly isCounted: boolean;
  /**
   * How many tasks of each state match the other filters. A state that no task has is left out. Null where more match than
   * are counted.
   */
  readonly states: Readonly<Record<string, number>> | null;
}

const MAX_TOTAL = 100_000;
/** A search counts less far, because a task may match in three columns and counts once. */
const MAX_FOUND = 1_000;
/** Greater than every text that has the same beginning. */
const LAST = '\u{10FFFF}';

/** The tasks that match, the newest first. */
export function listTasks(db: Queries, query: TaskQuery): TaskList {
  const { state: wanted, limit } = query;
  const places = placesOf(query);
  const page = union(places, [cursorOf(query)], 'ORDER BY submitted_at DESC, n DESC LIMIT ?');
  const rows = db.all(
    `SELECT * FROM tasks WHERE n IN (SELECT n FROM (${page.sql}) ORDER BY submitted_at DESC, n DESC LIMIT ?)
     ORDER BY submitted_at DESC, n DESC`,
    ...page.values(limit + 1),
    limit + 1,
  );
  const tasks = rows.slice(0, limit).map(taskRecord);
  const last = tasks.at(-1);
  const next = rows.length > limit && last ? { submittedAt: last.submittedAt, n: last.n } : undefined;
  const most = query.q === undefined ? MAX_TOTAL : MAX_FOUND;
  const states = countByState(db, { ...query, state: undefined }, most);
  const matching = wanted && sumOf(states) > most ? countByState(db, query, most) : states;
  const found = sumOf(matching, wanted);
  return {
    tasks,
    next,
    total: Math.min(found, most),
    isCounted: found <= most,
    states: sumOf(states) > most ? null : states,
  };
}

/** The number of tasks of each state. When the sum is above `most`, there may be more. */
function countByState(db: Queries, query: TaskQuery, most: number): Record<string, number> {
  const matching = union(placesOf(query), [], 'LIMIT ?');
  const rows = db.all(
    `SELECT facets.state, count(*) AS n FROM (${matching.sql}) AS found JOIN facets ON facets.n = found.facet
     GROUP BY facets.state`,
    ...matching.values(most + 1),
  );
  return Object.fromEntries(rows.map((row) => [text(row, 'state'), integer(row, 'n')]));
}

const sumOf = (states: Readonly<Record<string, number>>, wanted?: readonly string[]): number =>
  Object.entries(states).reduce(
    (sum, [state, n]) => (wanted === undefined || wanted.includes(state) ? sum + n : sum),
    0,
  );

/** A part of a statement, with the values of its parameters. Its texts are few, so that the statements are prepared once. */
interface Sql {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}

/** An index that alone finds what matches, and the conditions on its columns. */
interface Place {
  readonly index: string;
  readonly conditions: readonly Sql[];
}

/** Where the tasks of a query are found: in the index of the facets, or for a search in those of the names. */
function placesOf({ q, since, until, ...query }: TaskQuery): Place[] {
  const time = {
    sql: 'submitted_at >= ? AND submitted_at < ?',
    values: [since ?? 0, until ?? Number.MAX_SAFE_INTEGER],
  };
  const conditions = [facetsOf(query), time];
  if (q === undefined) return [{ index: 'tasks_by_facet', conditions }];
  return [
    ['tasks_by_id', 'id'],
    ['tasks_by_name', 'task_id'],
    ['tasks_by_context', 'context_id'],
  ].map(([index = '', column]) => ({
    index,
    conditions: [{ sql: `${column} >= ? AND ${column} < ?`, values: [q, `${q}${LAST}`] }, ...conditions],
  }));
}

const EQUAL = ['profile', 'peer', 'caller', 'reason', 'priority'] as const;

function facetsOf(query: Omit<TaskQuery, 'q' | 'since' | 'until'>): Sql {
  const parts = ['TRUE'];
  const values: SQLInputValue[] = [];
  if (!query.parts) parts.push('entered = 1');
  if (query.state) {
    parts.push('state IN (SELECT value FROM json_each(?))');
    values.push(JSON.stringify(query.state));
  }
  for (const name of EQUAL) {
    const wanted = query[name];
    if (wanted === undefined) continue;
    parts.push(`${name} = ?`);
    values.push(wanted);
  }
  return { sql: `facet IN (SELECT n FROM facets WHERE ${parts.join(' AND ')})`, values };
}

const cursorOf = ({ before }: TaskQuery): Sql =>
  before
    ? {
        sql: 'submitted_at <= ? AND (submitted_at < ? OR n < ?)',
        values: [before.submittedAt, before.submittedAt, before.n],
      }
    : { sql: 'TRUE', values: [] };

/** The tasks of all places, each once, at most `limit` of each place. */
function union(
  places: readonly Place[],
  more: readonly Sql[],
  end: string,
): { readonly sql: string; values(limit: number): SQLInputValue[] } {
  const parts = places.map(({ index, conditions }) => {
    const where = [...conditions, ...more].map(({ sql }) => sql).join(' AND ');
    return `SELECT * FROM (SELECT n, submitted_at, facet FROM tasks INDEXED BY ${index} WHERE ${where} ${end})`;
  });
  return {
    sql: parts.join(' UNION '),
    values: (limit) =>
      places.flatMap(({ conditions }) => [
        ...[...conditions, ...more].flatMap(({ values }) => values),
        limit,
      ]),
  };
}
