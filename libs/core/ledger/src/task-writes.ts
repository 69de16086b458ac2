import type { Clock } from '@hermes-fleet/protocol/ports';
import { integer, numberOf, type Queries, type Store, text } from '@hermes-fleet/store';
import {
  ALL_BELONGINGS,
  type Belonging,
  type LiveTasks,
  NO_BELONGINGS,
  withBelonging,
} from './live-tasks.ts';
import { taskState } from './rows.ts';
import { isTerminal } from './states.ts';
import type { Sums } from './sums.ts';
import { notFound } from './task-rows.ts';
import type { NewEvent, TaskRecord } from './types.ts';

type Unfinished = Pick<TaskRecord, 'state' | 'resumes' | 'updatedAt'>;

/** What the transactions of a ledger share beside the file. */
export interface Scope {
  readonly clock: Clock;
  readonly sums: Sums;
  readonly writes: TaskWrites;
}

/** A task as the transactions up to now leave it. */
export interface Standing {
  /** The task's number in the file. */
  readonly n: number;
  readonly taskId: string;
  readonly caller: string;
  /** Undefined for a task that has ended. */
  readonly unfinished: Unfinished | undefined;
  /** What may be stored for it beside its events. */
  readonly belongings: ReadonlySet<Belonging>;
}

interface Entry extends Standing {
  unfinished: Unfinished | undefined;
  belongings: ReadonlySet<Belonging>;
  /** True if the file has the task among the unfinished ones. */
  isStored: boolean;
}

interface Batch {
  /** Undefined for a task that was removed. */
  readonly tasks: Map<string, Entry | undefined>;
  /** The tasks that are not written yet. */
  readonly changed: Set<Entry>;
  /** The columns of the events that are not written yet, one after the other. */
  events: (number | string)[];
  seq: number;
}

export type TaskWrites = ReturnType<typeof createTaskWrites>;

/**
 * What the transactions of a batch write for their tasks: events, and the states of unfinished tasks. They are written once,
 * after the last transaction of the batch, so that a task whose state changes twice is written once. For transactions only.
 *
 * Sequences go on where the last COMMIT left them. After a restart they follow every sequence of the file. A removed task
 * does not change that: the cursor has passed its last event, or `erased_events` has it until then.
 */
export function createTaskWrites(store: Pick<Store, 'read' | 'perBatch'>, live: LiveTasks) {
  let newest = store.read(newestSequence);
  // Nothing outside of the file refers to these after a restart, so that numbers of removed rows may then be used again.
  let number = store.read((db) => numberOf(db, 'SELECT coalesce(max(n), 0) FROM tasks'));
  let tokenId = store.read((db) => numberOf(db, 'SELECT coalesce(max(id), 0) FROM tokens'));
  const batch = store.perBatch(
    (): Batch => ({ tasks: new Map(), changed: new Set(), events: [], seq: newest }),
    write,
  );

  /** Undefined for an unknown task. */
  const findTask = (db: Queries, taskId: string): Standing | undefined => {
    const tasks = batch.peek()?.tasks;
    if (tasks?.has(taskId)) return tasks.get(taskId);
    const known = live.findTask(taskId);
    if (!known) return findStanding(db, taskId);
    const { n, record, belongings } = known;
    return { n, taskId, caller: record.caller, unfinished: record, belongings };
  };

  const entryOf = ({ tasks }: Batch, task: Standing): Entry => {
    const known = tasks.get(task.taskId);
    if (known) return known;
    const { n, taskId, caller, unfinished, belongings } = task;
    const entry = { n, taskId, caller, unfinished, belongings, isStored: unfinished !== undefined };
    tasks.set(taskId, entry);
    return entry;
  };

  return {
    findTask,
    /** Throws TASK_NOT_FOUND. */
    get: (db: Queries, taskId: string): Standing => {
      const task = findTask(db, taskId);
      if (!task) throw notFound(taskId);
      return task;
    },
    /** A number for a new task, which no other task of this process has had. */
    number: (): number => {
      number += 1;
      return number;
    },
    /** Adds a task that was inserted by this transaction. */
    accepted: (n: number, record: TaskRecord): void => {
      const { tasks, changed } = batch();
      const { id: taskId, caller } = record;
      const unfinished = isTerminal(record.state) ? undefined : record;
      const entry = { n, taskId, caller, unfinished, belongings: NO_BELONGINGS, isStored: false };
      tasks.set(taskId, entry);
      if (unfinished) changed.add(entry);
    },
    /** Changes an unfinished task; undefined: it is unfinished no more. */
    change: (task: Standing, unfinished: Unfinished | undefined): void => {
      const open = batch();
      const entry = entryOf(open, task);
      entry.unfinished = unfinished;
      open.changed.add(entry);
    },
    /** Must be called by a transaction that removes tasks: later ones of its batch do not find them. */
    removed: (taskIds: readonly string[]): void => {
      if (taskIds.length === 0) return;
      const { tasks } = batch();
      for (const taskId of taskIds) tasks.set(taskId, undefined);
    },
    /** Must be called by a transaction that stores something for a task. */
    stores: (task: Standing, belonging: Belonging): void => {
      const entry = entryOf(batch(), task);
      entry.belongings = withBelonging(entry.belongings, belonging);
    },
    /** Adds an event, and returns its sequence. */
    event: (n: number, { type, data }: NewEvent, at: number): number => {
      const text = JSON.stringify(data);
      const open = batch();
      open.seq += 1;
      open.events.push(open.seq, n, type, at, text);
      return open.seq;
    },
    /** An id for a row of `tokens`, which is used once: a late answer must not settle the reservation of another call. */
    tokenId: (): number => {
      tokenId += 1;
      return tokenId;
    },
    /** Must be called with every event after COMMIT. */
    committed: (seq: number): void => {
      newest = seq;
    },
    /** Writes what was added up to now. Must be called by a transaction that reads events or unfinished tasks from the file. */
    flush: (db: Queries): void => {
      const open = batch.peek();
      if (open) write(db, open);
    },
  };
}

const newestSequence = (db: Queries): number =>
  numberOf(
    db,
    `SELECT max(cursor, counted_to, coalesce((SELECT max(seq) FROM events), 0),
       coalesce((SELECT max(seq) FROM erased_events), 0)) FROM outbox`,
  );

/** The task as the file has it. */
function findStanding(db: Queries, taskId: string): Standing | undefined {
  const row = db.get(
    `SELECT t.n, t.caller, u.state, u.resumes, u.updated_at
     FROM tasks t LEFT JOIN unfinished u ON u.task = t.n WHERE t.id = ?`,
    taskId,
  );
  if (!row) return undefined;
  const unfinished =
    row.state === null
      ? undefined
      : { state: taskState(row), resumes: integer(row, 'resumes'), updatedAt: integer(row, 'updated_at') };
  return {
    n: integer(row, 'n'),
    taskId,
    caller: text(row, 'caller'),
    unfinished,
    belongings: ALL_BELONGINGS,
  };
}

function write(db: Queries, batch: Batch): void {
  insertEvents(db, batch.events);
  batch.events = [];
  for (const entry of batch.changed) writeEntry(db, entry);
  batch.changed.clear();
}

function writeEntry(db: Queries, entry: Entry): void {
  const { n, caller, unfinished, isStored } = entry;
  if (unfinished)
    db.run(
      `INSERT INTO unfinished (task, caller, state, resumes, updated_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET state = excluded.state, resumes = excluded.resumes, updated_at = excluded.updated_at`,
      n,
      caller,
      unfinished.state,
      unfinished.resumes,
      unfinished.updatedAt,
    );
  else if (isStored) db.run('DELETE FROM unfinished WHERE task = ?', n);
  entry.isStored = unfinished !== undefined;
}

/** More events than this are inserted in several statements. */
const MAX_AT_ONCE = 8;
const COLUMNS = 5;
const INSERTS = Array.from(
  { length: MAX_AT_ONCE },
  (_, last) =>
    `INSERT INTO events (seq, task, type, at, data) VALUES ${Array(last + 1)
      .fill('(?, ?, ?, ?, ?)')
      .join(', ')}`,
);

function insertEvents(db: Queries, values: readonly (number | string)[]): void {
  for (let from = 0; from < values.length; from += MAX_AT_ONCE * COLUMNS) {
    const some = values.slice(from, from + MAX_AT_ONCE * COLUMNS);
    db.run(INSERTS[some.length / COLUMNS - 1] ?? '', ...some);
  }
}
