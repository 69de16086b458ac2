import type { Queries } from '@hermes-fleet/store';
import { type Appended, appendedBy } from './appended.ts';
import { keepConversation } from './conversations.ts';
import { dropCheckpoint } from './late-results.ts';
import { isTerminal as isTerminalState } from './states.ts';
import type { Sums } from './sums.ts';
import type { Scope, Standing } from './task-writes.ts';
import type { NewEvent, TaskChange } from './types.ts';

/** The transaction of `Ledger.append`; undefined, without a change, for an ended task. Judges before it writes. */
export function appendEvent(
  db: Queries,
  { clock, sums, writes }: Scope,
  task: Standing,
  event: NewEvent,
  change?: TaskChange,
): Appended | undefined {
  const { n, taskId, caller, unfinished, belongings } = task;
  if (!unfinished) return undefined;
  const at = clock.now();
  const appended = appendedBy({ taskId, at }, { event, change }, () => writes.event(n, event, at));
  const { state, touches, isTerminal } = appended;
  const resumes = change?.resumes ?? unfinished.resumes;
  if (!isTerminal) {
    if (touches) writes.change(task, { state: state ?? unfinished.state, resumes, updatedAt: at });
    return appended;
  }
  writes.change(task, undefined);
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
  const result = change?.result ? JSON.stringify(change.result) : null;
  const { at, seq } = event;
  db.insert('endings', { task: n, caller, state, resumes, updated_at: at, seq, result });
  sums.ended({ caller, state }, at, 1);
}
