import type { SQLInputValue } from 'node:sqlite';
import { integer, type Queries, type Row, text } from '@hermes-fleet/store';
import { type Counts, TASK_STATES, type TaskFacts, type TaskState } from '../projection/task-facts.ts';
import { facetOf } from './facets.ts';

/** The columns of a task and their values. */
type Columns = Readonly<Record<string, (task: TaskFacts) => SQLInputValue>>;

const KEY: Columns = { profile: (task) => task.profile, id: (task) => task.id };

/** Columns that the first events of a task set once. Most of them are in an index. */
const ORIGIN: Columns = {
  task_id: (task) => task.taskId,
  context_id: (task) => task.contextId,
  caller: (task) => task.caller,
  root_id: (task) => task.rootId,
  root_caller: (task) => task.rootCaller,
  parent_task_id: (task) => task.parentTaskId,
  parent_profile: (task) => task.parentProfile,
  entered: (task) => Number(task.entered),
  priority: (task) => task.priority,
  target: (task) => task.target,
  submitted_at: (task) => task.submittedAt,
  deadline_at: (task) => task.deadlineAt,
  trace_id: (task) => task.traceId,
};

/** Columns that later events change. */
const COURSE: Columns = {
  state: (task) => task.state,
  peer: (task) => task.peer,
  tool: (task) => task.tool,
  spent_tokens: (task) => task.spentTokens,
  budget_tokens: (task) => task.budgetTokens,
  started_at: (task) => task.startedAt,
  ended_at: (task) => task.endedAt,
  reason: (task) => task.reason,
  reroutes: (task) => task.reroutes,
  model: (task) => task.model,
  model_tier: (task) => task.modelTier,
  own_tokens: (task) => task.ownTokens,
  input: (task) => task.counts.input,
  output: (task) => task.counts.output,
  cache_read: (task) => task.counts.cacheRead,
  cache_write: (task) => task.counts.cacheWrite,
  reasoning: (task) => task.counts.reasoning,
  has_counts: (task) => Number(task.hasCounts),
  delegated_tokens: (task) => task.delegatedTokens,
  saved_tokens: (task) => task.savedTokens,
  overrun: (task) => Number(task.overrun),
};

const ALL = { ...KEY, ...ORIGIN, ...COURSE };
const INSERT = `INSERT INTO tasks (facet, ${Object.keys(ALL).join(', ')})
  VALUES (?, ${Object.keys(ALL)
    .map(() => '?')
    .join(', ')})`;
const update = (columns: Columns): string =>
  `UPDATE tasks SET ${Object.keys(columns)
    .map((name) => `${name} = ?`)
    .join(', ')} WHERE n = ?`;
const UPDATE_ORIGIN = update(ORIGIN);
const UPDATE_COURSE = update(COURSE);

const valuesOf = (columns: Columns, task: TaskFacts): SQLInputValue[] =>
  Object.values(columns).map((of) => of(task));

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
  const origin = valuesOf(ORIGIN, task);
  const known = valuesOf(ORIGIN, before);
  if (origin.some((value, index) => value !== known[index])) db.run(UPDATE_ORIGIN, ...origin, n);
  db.run(UPDATE_COURSE, ...valuesOf(COURSE, task), n);
  if (facet !== before.facet) db.run('UPDATE tasks SET facet = ? WHERE n = ?', facet, n);
  return n;
}

export function taskRecord(row: Row): TaskRecord {
  return {
    n: integer(row, 'n'),
    facet: integer(row, 'facet'),
    profile: text(row, 'profile'),
    id: text(row, 'id'),
    taskId: text(row, 'task_id'),
    contextId: text(row, 'context_id'),
    caller: text(row, 'caller'),
    rootId: textOrNull(row, 'root_id'),
    rootCaller: textOrNull(row, 'root_caller'),
    parentTaskId: textOrNull(row, 'parent_task_id'),
    parentProfile: textOrNull(row, 'parent_profile'),
    entered: integer(row, 'entered') === 1,
    state: stateIn(row),
    peer: textOrNull(row, 'peer'),
    tool: textOrNull(row, 'tool'),
    priority: textOrNull(row, 'priority'),
    target: textOrNull(row, 'target'),
    spentTokens: integer(row, 'spent_tokens'),
    budgetTokens: integerOrNull(row, 'budget_tokens'),
    submittedAt: integer(row, 'submitted_at'),
    startedAt: integerOrNull(row, 'started_at'),
    endedAt: integerOrNull(row, 'ended_at'),
    deadlineAt: integerOrNull(row, 'deadline_at'),
    reason: textOrNull(row, 'reason'),
    reroutes: integer(row, 'reroutes'),
    model: textOrNull(row, 'model'),
    modelTier: textOrNull(row, 'model_tier'),
    ownTokens: integer(row, 'own_tokens'),
    counts: countsIn(row),
    hasCounts: integer(row, 'has_counts') === 1,
    delegatedTokens: integer(row, 'delegated_tokens'),
    savedTokens: integer(row, 'saved_tokens'),
    overrun: integer(row, 'overrun') === 1,
    traceId: textOrNull(row, 'trace_id'),
  };
}

export const countsIn = (row: Row): Counts => ({
  input: integer(row, 'input'),
  output: integer(row, 'output'),
  cacheRead: integer(row, 'cache_read'),
  cacheWrite: integer(row, 'cache_write'),
  reasoning: integer(row, 'reasoning'),
});

function stateIn(row: Row): TaskState {
  const state = text(row, 'state');
  return TASK_STATES.find((known) => known === state) ?? 'submitted';
}

export const textOrNull = (row: Row, column: string): string | null =>
  row[column] === null ? null : text(row, column);
export const integerOrNull = (row: Row, column: string): number | null =>
  row[column] === null ? null : integer(row, column);
export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms));
export const iso = (ms: number): string => new Date(ms).toISOString();
