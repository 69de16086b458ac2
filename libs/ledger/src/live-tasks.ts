import type { Appended } from './append.ts';
import type { TaskRecord } from './types.ts';

/** What may be stored for an unfinished task beside its events. */
export type Belonging = 'checkpoint' | 'tokens' | 'questions';

/** An unfinished task as the last COMMIT left it. */
export interface LiveTask {
  /** The task's number in the file. */
  readonly n: number;
  readonly record: TaskRecord;
  /** False if the file has none of them; a transaction of the open batch may still have written some. */
  readonly has: (belonging: Belonging) => boolean;
}

/**
 * The unfinished tasks that this process has accepted or read. It changes after COMMIT only, in the order of the
 * transactions. A transaction reads states from the database, because an earlier one of its batch may have changed them.
 */
export interface LiveTasks {
  find(taskId: string): LiveTask | undefined;
  /** Remembers a task that was accepted, with nothing stored for it but its events. */
  accepted(n: number, record: TaskRecord): void;
  /** Remembers an unfinished task that was read. */
  found(n: number, record: TaskRecord): void;
  /** Must be called by the transaction that stores something for a task, and after its COMMIT. */
  stores(taskId: string, belonging: Belonging): void;
  /** Must be called after COMMIT with every appended event. Returns the task as the event left it, if it is known. */
  applied(appended: Appended): TaskRecord | undefined;
}

interface Entry extends LiveTask {
  record: TaskRecord;
  readonly belongings: Set<Belonging>;
}

const ALL: readonly Belonging[] = ['checkpoint', 'tokens', 'questions'];

export function createLiveTasks(): LiveTasks {
  const tasks = new Map<string, Entry>();
  const add = (n: number, record: TaskRecord, initial: readonly Belonging[]): void => {
    const belongings = new Set(initial);
    tasks.set(record.id, { n, record, belongings, has: (belonging) => belongings.has(belonging) });
  };
  return {
    find: (taskId) => tasks.get(taskId),
    accepted: (n, record) => add(n, record, []),
    found: (n, record) => add(n, record, ALL),
    stores: (taskId, belonging) => void tasks.get(taskId)?.belongings.add(belonging),
    applied: (appended) => {
      const entry = tasks.get(appended.event.taskId);
      if (!entry) return undefined;
      entry.record = recordAfter(entry.record, appended);
      if (appended.isTerminal) tasks.delete(entry.record.id);
      return entry.record;
    },
  };
}

/** The record of a task after an event that was appended to it. */
export function recordAfter(record: TaskRecord, { event, state, change, touches }: Appended): TaskRecord {
  const { seq, at } = event;
  if (!touches) return { ...record, lastSeq: seq };
  return {
    ...record,
    state: state ?? record.state,
    resumes: change?.resumes ?? record.resumes,
    result: change?.result ?? record.result,
    updatedAt: at,
    lastSeq: seq,
  };
}
