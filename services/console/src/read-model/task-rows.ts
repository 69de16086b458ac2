import type { SQLInputValue } from 'node:sqlite';
import { integer, type Queries, type Row } from '@hermes-fleet/store';
import {
  COURSE,
  type Counts,
  countsBy,
  FACTS,
  KINDS,
  ORIGIN,
  type TaskFacts,
} from '../projection/project-task.ts';

/** Facts are written in the columns of their names; the counts have one for each kind. */
const ORIGINAL = Object.keys(ORIGIN);
const LATER = [...Object.keys(COURSE), ...KINDS];
const ALL = [...Object.keys(FACTS), ...KINDS];
const COLUMNS = new Map(
  ALL.map((name) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
);
const columnOf = (name: string): string => COLUMNS.get(name) ?? name;

const INSERT = `INSERT INTO tasks (facet, ${ALL.map(columnOf).join(', ')})
  VALUES (?, ${ALL.map(() => '?').join(', ')})`;
const update = (names: readonly string[]): string =>
  `UPDATE tasks SET ${names.map((name) => `${columnOf(name)} = ?`).join(', ')} WHERE n = ?`;
const UPDATE_ORIGIN = update(ORIGINAL);
const UPDATE_COURSE = update(LATER);

function valuesOf(names: readonly string[], task: TaskFacts): SQLInputValue[] {
  const facts: Readonly<Record<string, unknown>> = task;
  const counts: Readonly<Record<string, number>> = task.counts;
  return names.map((name) => {
    const value = facts[name] ?? counts[name] ?? null;
    return typeof value === 'boolean' ? Number(value) : (value as string | number | null);
  });
}

/** A task of the read model, with the numbers of its row and of its facet. */
export interface TaskRecord extends TaskFacts {
  readonly n: number;
  readonly facet: number;
}

export function findTask(db: Queries, profile: string, id: string): TaskRecord | undefined {
  const row = db.get('SELECT * FROM tasks WHERE profile = ? AND id = ?', profile, id);
  return row && taskRecord(row);
}

/**
 * Writes a task, and returns the number of its row. `before` is the task as it is stored: SQLite writes every index of a
 * column that an UPDATE names, so it names those that change.
 */
export function saveTask(db: Queries, task: TaskFacts, before: TaskRecord | undefined): number {
  const facet = facetOf(db, task, before);
  if (before === undefined) return db.run(INSERT, facet, ...valuesOf(ALL, task)).rowid;
  const { n } = before;
  const origin = valuesOf(ORIGINAL, task);
  const known = valuesOf(ORIGINAL, before);
  if (origin.some((value, index) => value !== known[index])) db.run(UPDATE_ORIGIN, ...origin, n);
  db.run(UPDATE_COURSE, ...valuesOf(LATER, task), n);
  if (facet !== before.facet) db.run('UPDATE tasks SET facet = ? WHERE n = ?', facet, n);
  return n;
}

/** The values of a facet. A task without a value, such as a reason, has an empty text there. */
const FACET: Readonly<Record<string, (task: TaskFacts) => string | number>> = {
  entered: ({ entered }) => Number(entered),
  state: ({ state }) => state,
  profile: ({ profile }) => profile,
  peer: ({ peer }) => peer ?? '',
  caller: ({ caller }) => caller,
  reason: ({ reason }) => reason ?? '',
  priority: ({ priority }) => priority ?? '',
};

const FACET_NAMES = Object.keys(FACET);
const FIND_FACET = `SELECT n FROM facets WHERE ${FACET_NAMES.map((name) => `${name} = ?`).join(' AND ')}`;
const INSERT_FACET = `INSERT INTO facets (${FACET_NAMES.join(', ')}) VALUES (${FACET_NAMES.map(() => '?').join(', ')})`;

const facetValues = (task: TaskFacts) => Object.values(FACET).map((of) => of(task));

/** The number of a task's facet, which is made where no task had these values yet. `before` is the task as it is stored. */
function facetOf(db: Queries, task: TaskFacts, before: TaskRecord | undefined): number {
  const values = facetValues(task);
  if (before) {
    const old = facetValues(before);
    if (values.every((value, index) => value === old[index])) return before.facet;
  }
  const row = db.get(FIND_FACET, ...values);
  return row ? integer(row, 'n') : db.run(INSERT_FACET, ...values).rowid;
}

/** Some facts of a task, with the number of its row and its counts. */
type SomeFacts<F extends keyof typeof FACTS> = Pick<TaskRecord, F | 'n' | 'counts'>;

/** The columns of these facts, and what reads them. */
export function factsReader<F extends keyof typeof FACTS>(
  names: readonly F[],
): { readonly columns: string; readonly read: (row: Row) => SomeFacts<F> } {
  const readers = names.map((name) => [name, columnOf(name), FACTS[name]] as const);
  // A copy of a parsed object has room for all its properties: one that gets them one by one is several times slower.
  const empty: Record<string, unknown> = JSON.parse(
    JSON.stringify(Object.fromEntries(['n', ...names, 'counts'].map((name) => [name, null]))),
  );
  return {
    columns: ['n', ...names, ...KINDS].map((name) => `tasks.${columnOf(name)}`).join(', '),
    read(row) {
      const facts = { ...empty };
      facts.n = integer(row, 'n');
      facts.counts = countsIn(row);
      for (const [name, column, read] of readers) facts[name] = read(row, column);
      return facts as SomeFacts<F>;
    },
  };
}

const { read } = factsReader(Object.keys(FACTS) as (keyof typeof FACTS)[]);
export const taskRecord = (row: Row): TaskRecord => ({ ...read(row), facet: integer(row, 'facet') });

export const countsIn = (row: Row): Counts => countsBy((kind) => integer(row, columnOf(kind)));

export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms));
export const iso = (ms: number): string => new Date(ms).toISOString();
/** A time of a row, as the API has it. */
export const time = (row: Row, column: string): string => iso(integer(row, column));
