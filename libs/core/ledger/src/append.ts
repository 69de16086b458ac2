import { TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Queries } from '@hermes-fleet/store';
import type { Appended } from './appended.ts';
import { keepConversation } from './conversations.ts';
import { dropCheckpoint } from './late-results.ts';
import { isTerminal as isTerminalState, stateAfter } from './states.ts';
import type { Sums } from './sums.ts';
import type { Standing, TaskWrites } from './task-writes.ts';
import type { NewEvent, TaskChange } from './types.ts';

/** The transaction of `Ledger.append`; undefined, without a change, for an ended task. Judges before it writes. */
export function appendEvent(
  db: Queries,
  clock: Clock,
  sums: Sums,
  writes: TaskWrites,
  task: Standing,
  event: NewEvent,
  change: TaskChange | undefined,
): Appended | undefined {
  const { n, taskId, caller, unfinished, belongings } = task;
  if (!unfinished) return undefined;
  const state = stateAfter(event, change);
  const at = clock.now();
  const touches = event.type !== 'text' || change !== undefined;
  const isTerminal = TERMINAL_EVENTS.has(event.type);
  const seq = writes.event(n, event, at);
  const appended: Appended = {
    event: { seq, taskId, type: event.type, at, data: event.data },
    state,
    change,
    touches,
    isTerminal,
  };
  const resumes = change?.resumes ?? unfinished.resumes;
  if (!isTerminal) {
    if (touches) writes.change(task, { state: state ?? unfinished.state, resumes, updatedAt: at });
    return appended;
  }
  writes.end(task);
  insertEnding(db, sums, n, caller, resumes, appended);
  if (belongings.has('checkpoint')) {
    keepConversation(db, n, { at, type: event.type, result: change?.result });
    dropCheckpoint(db, n);
  }
  if (event.type === 'blocked') db.run('UPDATE tasks SET fingerprint = NULL WHERE n = ?', n);
  return appended;
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
  if (state === undefined || !isTerminalState(state)) return;
  db.run(
    `INSERT INTO endings (task, caller, state, resumes, updated_at, seq, result) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    n,
    caller,
    state,
    resumes,
    event.at,
    event.seq,
    change?.result ? JSON.stringify(change.result) : null,
  );
  sums.ended({ caller, state }, event.at, 1);
}
