import { integer, type Queries, type Row, text } from '@hermes-fleet/store';
import { TASK_STATES, type TaskFacts, type TaskState } from '../projection/task-facts.ts';

const COLUMNS = [
  ...['profile', 'id', 'task_id', 'context_id', 'caller', 'root_id', 'root_caller', 'parent_task_id'],
  ...['parent_profile', 'entered', 'state', 'peer', 'tool', 'priority', 'target', 'spent_tokens'],
  ...[
    'budget_tokens',
    'submitted_at',
    'started_at',
    'ended_at',
    'deadline_at',
    'reason',
    'reroutes',
    'model',
  ],
  ...['model_tier', 'own_tokens', 'input', 'output', 'cache_read', 'cache_write', 'reasoning', 'has_counts'],
  ...['delegated_tokens', 'saved_tokens', 'overrun', 'trace_id'],
] as const;

const INSERT = `INSERT INTO tasks (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})`;
const UPDATE = `UPDATE tasks SET ${COLUMNS.map((name) => `${name} = ?`).join(', ')} WHERE n = ?`;

/** A task of the read model, with the number of its row. */
export interface TaskRecord extends TaskFacts {
  readonly n: number;
}

export function findTask(db: Queries, profile: string, id: string): TaskRecord | undefined {
  const row = db.get('SELECT * FROM tasks WHERE profile = ? AND id = ?', profile, id);
  return row && taskRecord(row);
}

/** Writes a task, and returns the number of its row. */
export function saveTask(db: Queries, task: TaskFacts, n: number | undefined): number {
  const values = valuesOf(task);
  if (n === undefined) return db.run(INSERT, ...values).rowid;
  db.run(UPDATE, ...values, n);
  return n;
}

/** The values of `COLUMNS`, in their order. */
function valuesOf(task: TaskFacts): (string | number | null)[] {
  const { counts } = task;
  return [
    ...[task.profile, task.id, task.taskId, task.contextId, task.caller, task.rootId, task.rootCaller],
    ...[task.parentTaskId, task.parentProfile, Number(task.entered), task.state, task.peer, task.tool],
    ...[task.priority, task.target, task.spentTokens, task.budgetTokens, task.submittedAt, task.startedAt],
    ...[
      task.endedAt,
      task.deadlineAt,
      task.reason,
      task.reroutes,
      task.model,
      task.modelTier,
      task.ownTokens,
    ],
    ...[counts.input, counts.output, counts.cacheRead, counts.cacheWrite, counts.reasoning],
    ...[Number(task.hasCounts), task.delegatedTokens, task.savedTokens, Number(task.overrun), task.traceId],
  ];
}

export function taskRecord(row: Row): TaskRecord {
  return {
    n: integer(row, 'n'),
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
    counts: {
      input: integer(row, 'input'),
      output: integer(row, 'output'),
      cacheRead: integer(row, 'cache_read'),
      cacheWrite: integer(row, 'cache_write'),
      reasoning: integer(row, 'reasoning'),
    },
    hasCounts: integer(row, 'has_counts') === 1,
    delegatedTokens: integer(row, 'delegated_tokens'),
    savedTokens: integer(row, 'saved_tokens'),
    overrun: integer(row, 'overrun') === 1,
    traceId: textOrNull(row, 'trace_id'),
  };
}

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
