import { type Clock, TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import { integer, type Queries, text } from '@hermes-fleet/store';
import { keepConversation } from './conversations.ts';
import { dropCheckpoint } from './late-results.ts';
import { isTerminal, stateAfter } from './states.ts';
import type { Sums } from './sums.ts';
import { isUnfinished } from './task-rows.ts';
import type { NewEvent, TaskChange, TaskEvent, TaskState } from './types.ts';

/** An event that was appended, and what it changed. */
export interface Appended {
  readonly event: TaskEvent;
  /** Undefined if the state stays. */
  readonly state: TaskState | undefined;
  readonly change: TaskChange | undefined;
  /** False for a text delta, which does not update the task. */
  readonly touches: boolean;
  readonly isTerminal: boolean;
}

/** The task of an append. `mayHaveCheckpoint` is false only if the task has none. */
export interface AppendedTo {
  readonly n: number;
  readonly taskId: string;
  readonly mayHaveCheckpoint: boolean;
}

/** The transaction of `Ledger.append`; undefined, without a change, for an ended task. Judges before it writes. */
export function appendEvent(
  db: Queries,
  clock: Clock,
  sums: Sums,
  { n, taskId, mayHaveCheckpoint }: AppendedTo,
  event: NewEvent,
  change: TaskChange | undefined,
): Appended | undefined {
  let state: TaskState | undefined;
  try {
    state = stateAfter(event, change);
  } catch (error) {
    if (!isUnfinished(db, n)) return undefined;
    throw error;
  }
  const at = clock.now();
  const appended = (seq: number, touches: boolean, terminal: boolean): Appended => ({
    event: { seq, taskId, type: event.type, at, data: event.data },
    state,
    change,
    touches,
    isTerminal: terminal,
  });
  if (event.type === 'text' && change === undefined) {
    const { changes, rowid } = db.run(
      `INSERT INTO events (task, type, at, data)
       SELECT ?1, 'text', ?2, ?3 WHERE EXISTS (SELECT 1 FROM unfinished WHERE task = ?1)`,
      n,
      at,
      JSON.stringify(event.data),
    );
    return changes === 0 ? undefined : appended(rowid, false, false);
  }
  if (!TERMINAL_EVENTS.has(event.type)) {
    const { changes } = db.run(
      `UPDATE unfinished SET state = coalesce(?, state), resumes = coalesce(?, resumes), updated_at = ?
       WHERE task = ?`,
      state ?? null,
      change?.resumes ?? null,
      at,
      n,
    );
    return changes === 0 ? undefined : appended(insertEvents(db, n, at, [event]), true, false);
  }
  const row = db.get('DELETE FROM unfinished WHERE task = ? RETURNING caller, resumes', n);
  if (!row || state === undefined) return undefined;
  const ended = appended(insertEvents(db, n, at, [event]), true, true);
  insertEnding(db, sums, n, text(row, 'caller'), integer(row, 'resumes'), ended);
  if (mayHaveCheckpoint) {
    keepConversation(db, n, { at, type: event.type, result: change?.result });
    dropCheckpoint(db, n);
  }
  if (event.type === 'blocked') db.run('UPDATE tasks SET fingerprint = NULL WHERE n = ?', n);
  return ended;
}

/** Stores that a task has ended with its terminal event. */
export function insertEnding(
  db: Queries,
  sums: Sums,
  n: number,
  caller: string,
  resumes: number,
  { event, state, change }: Appended,
): void {
  if (state === undefined || !isTerminal(state)) return;
  db.run(
    `INSERT INTO endings (task, caller, state, resumes, updated_at, seq, result) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    n,
    caller,
    state,
    change?.resumes ?? resumes,
    event.at,
    event.seq,
    change?.result ? JSON.stringify(change.result) : null,
  );
  sums.ended({ caller, state }, event.at, 1);
}

/** More events than this are inserted in several statements. */
const MAX_AT_ONCE = 4;
const INSERTS = Array.from(
  { length: MAX_AT_ONCE },
  (_, last) =>
    `INSERT INTO events (task, type, at, data) VALUES ${Array(last + 1)
      .fill('(?, ?, ?, ?)')
      .join(', ')}`,
);

/** Inserts events of a task, whose sequences follow one another, and returns the last sequence. */
export function insertEvents(db: Queries, n: number, at: number, events: readonly NewEvent[]): number {
  let last = 0;
  for (let from = 0; from < events.length; from += MAX_AT_ONCE) {
    const some = events.slice(from, from + MAX_AT_ONCE);
    const values = some.flatMap(({ type, data }) => [n, type, at, JSON.stringify(data)]);
    last = db.run(INSERTS[some.length - 1] ?? '', ...values).rowid;
  }
  return last;
}
