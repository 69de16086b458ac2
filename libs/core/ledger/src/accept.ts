import { FleetError, isJsonObject } from '@hermes-fleet/protocol';
import type { Queries } from '@hermes-fleet/store';
import { insertEnding } from './append.ts';
import { type Appended, appendedBy, recordAfter } from './appended.ts';
import { refuseTask } from './context-deletions.ts';
import { findByKey } from './task-rows.ts';
import type { Scope, TaskWrites } from './task-writes.ts';
import type { FollowingEvent, NewTask, TaskRecord } from './types.ts';

/** The outcome of `acceptTask`. */
export type Acceptance =
  | { readonly kind: 'refused'; readonly error: FleetError }
  | { readonly kind: 'known'; readonly task: TaskRecord }
  | {
      readonly kind: 'created';
      readonly n: number;
      /** The task after its last event. */
      readonly task: TaskRecord;
      readonly appended: readonly Appended[];
    };

/**
 * The transaction of `Ledger.accept`. It returns its refusals: one that is thrown after a statement that writes would make
 * the store repeat the whole batch.
 */
export function acceptTask(
  db: Queries,
  { clock, sums, writes }: Scope,
  task: NewTask,
  following: readonly FollowingEvent[],
): Acceptance {
  const now = clock.now();
  const { acceptUntil } = task;
  const lateMs = acceptUntil === undefined ? 0 : now - acceptUntil;
  if (lateMs > 0) return knownTask(db, writes, task) ?? { kind: 'refused', error: expired(lateMs) };
  const planned = plan(now, task, following);
  const n = insertTask(db, writes.number(), task, now, planned);
  if (n === undefined) {
    const known = knownTask(db, writes, task);
    if (known) return known;
    return { kind: 'refused', error: refuseTask(task.contextId) };
  }
  const appended = planned.map((each) => ({
    ...each,
    event: { ...each.event, seq: writes.event(n, each.event, now) },
  }));
  const record = appended.reduce(recordAfter, newRecord(task, now));
  const ending = appended.at(-1);
  if (ending?.isTerminal) insertEnding(db, sums, n, task.caller, record.resumes, ending);
  writes.accepted(n, record);
  return { kind: 'created', n, task: record, appended };
}

/** The events of the acceptance up to the first that ends the task, without their sequences. Throws as `stateAfter`. */
function plan(
  now: number,
  { id: taskId, submitted = {} }: NewTask,
  following: readonly FollowingEvent[],
): Appended[] {
  const planned: Appended[] = [];
  const first: FollowingEvent = { event: { type: 'submitted', data: submitted } };
  for (const each of [first, ...following]) {
    const appended = appendedBy({ taskId, at: now }, each, () => 0);
    planned.push(appended);
    if (appended.isTerminal) break;
  }
  return planned;
}

/** The number of the new row, `n`; undefined if the key is bound, or the context is being deleted. */
function insertTask(
  db: Queries,
  n: number,
  task: NewTask,
  now: number,
  planned: readonly Appended[],
): number | undefined {
  const isTaken = db.get(
    `SELECT 1 FROM context_deletions WHERE context_id = ?1
     UNION ALL SELECT 1 FROM tasks WHERE caller = ?2 AND key = ?3 AND fingerprint IS NOT NULL LIMIT 1`,
    task.contextId,
    task.caller,
    task.key,
  );
  if (isTaken) return undefined;
  // A task that ends blocked frees its key.
  const isBound = planned.at(-1)?.event.type !== 'blocked';
  const stored = storedDispatch(task);
  // One row of VALUES: an INSERT from a SELECT would copy each page before it changes it, to undo the statement alone.
  db.insert('tasks', {
    n,
    id: task.id,
    context_id: task.contextId,
    caller: task.caller,
    key: task.key,
    fingerprint: isBound ? task.fingerprint : null,
    traceparent: task.traceparent ?? null,
    created_at: now,
    dispatch_part: stored.part,
    dispatch: stored.text,
    message: JSON.stringify(task.message),
  });
  if (task.lineage) db.insert('lineages', { task: n, fields: JSON.stringify(task.lineage) });
  return n;
}

/** The place of the dispatch among the data parts of the message; its text if it is not there. */
function storedDispatch({ message, dispatch }: NewTask): { part: number | null; text: string | null } {
  const parts = Array.isArray(message.parts) ? message.parts : [];
  const data = parts.map((part) => (isJsonObject(part) ? part.data : undefined));
  const same = data.indexOf(dispatch);
  if (same >= 0) return { part: same, text: null };
  const text = JSON.stringify(dispatch);
  const equal = data.findIndex(
    (each) => isJsonObject(each) && each.type === dispatch.type && JSON.stringify(each) === text,
  );
  return equal >= 0 ? { part: equal, text: null } : { part: null, text };
}

function newRecord(task: NewTask, now: number): TaskRecord {
  const { id, contextId, caller, key, message, dispatch, traceparent, lineage } = task;
  return {
    id,
    contextId,
    caller,
    key,
    message,
    dispatch,
    state: 'submitted',
    result: undefined,
    resumes: 0,
    createdAt: now,
    updatedAt: now,
    lastSeq: 0,
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(lineage === undefined ? {} : { lineage }),
  };
}

/** The task that holds the key of a new one; a refusal if it has another fingerprint. */
function knownTask(
  db: Queries,
  writes: TaskWrites,
  { caller, key, fingerprint }: NewTask,
): Acceptance | undefined {
  writes.flush(db);
  const known = findByKey(db, caller, key);
  if (!known) return undefined;
  if (known.fingerprint !== fingerprint) return { kind: 'refused', error: conflictOf(key) };
  return { kind: 'known', task: known.task };
}

function expired(lateMs: number): FleetError {
  const message = `the dispatch was read ${lateMs} ms after its routing.accept_until: nothing was started; send it again with a later one`;
  return new FleetError('DISPATCH_EXPIRED', message);
}

/** The error for a key that is bound to another payload (docs/handshake.md#idempotency). */
export function conflictOf(key: string): FleetError {
  const reason = `task_id "${key}" was used for another payload; use a new one`;
  return new FleetError('TASK_ID_CONFLICT', reason, { fields: [{ path: 'task.task_id', reason }] });
}
