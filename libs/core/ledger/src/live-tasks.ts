import { type Appended, recordAfter } from './appended.ts';
import { isTerminal } from './states.ts';
import type { TaskRecord } from './types.ts';

/** A kind of rows that an unfinished task may have beside its events. */
export type Belonging = (typeof BELONGINGS)[number];
const BELONGINGS = ['checkpoint', 'tokens', 'questions', 'artifacts'] as const;

/** An unfinished task as the last COMMIT left it. */
export interface LiveTask {
  /** The task's number in the file. */
  readonly n: number;
  readonly record: TaskRecord;
  /** The file has nothing else for it, unless a transaction of the open batch has just written some. */
  readonly belongings: ReadonlySet<Belonging>;
}

/** The facts about a task that stay true after its end. The file has nothing of a task that was removed since then. */
export type EndedTask = Pick<LiveTask, 'n' | 'belongings'>;

interface Entry extends LiveTask {
  record: TaskRecord;
  belongings: ReadonlySet<Belonging>;
}

export const NO_BELONGINGS: ReadonlySet<Belonging> = new Set();
export const ALL_BELONGINGS: ReadonlySet<Belonging> = new Set(BELONGINGS);

/** Belongings with one more. A set of belongings is never changed, because tasks share it. */
export const withBelonging = (
  belongings: ReadonlySet<Belonging>,
  belonging: Belonging,
): ReadonlySet<Belonging> => (belongings.has(belonging) ? belongings : new Set([...belongings, belonging]));

const MAX_ENDED = 1000;

export type LiveTasks = ReturnType<typeof createLiveTasks>;

/**
 * The unfinished tasks that this process has accepted or read. It changes after COMMIT only, in the order of the
 * transactions. A transaction asks `TaskWrites`, which knows what the earlier ones of its batch changed.
 */
export function createLiveTasks() {
  const tasks = new Map<string, Entry>();
  const ended = new Map<string, EndedTask>();
  const add = (n: number, record: TaskRecord, belongings: ReadonlySet<Belonging>): void =>
    void tasks.set(record.id, { n, record, belongings });
  const end = (taskId: string, { n, belongings }: EndedTask): void => {
    ended.set(taskId, { n, belongings });
    if (ended.size <= MAX_ENDED) return;
    const { value: oldest } = ended.keys().next();
    if (oldest !== undefined) ended.delete(oldest);
  };
  return {
    findTask: (taskId: string): LiveTask | undefined => tasks.get(taskId),
    /** An unfinished task, or one of the last that have ended: their callers are told about them next. */
    findRecent: (taskId: string): EndedTask | undefined => tasks.get(taskId) ?? ended.get(taskId),
    /** Remembers a task that was accepted, with nothing stored for it but its events. It may have ended. */
    accepted: (n: number, record: TaskRecord): void => {
      if (isTerminal(record.state)) end(record.id, { n, belongings: NO_BELONGINGS });
      else add(n, record, NO_BELONGINGS);
    },
    /** Remembers an unfinished task that was read. */
    found: (n: number, record: TaskRecord): void => add(n, record, ALL_BELONGINGS),
    /** Must be called after the COMMIT of a transaction that stores something for a task. */
    stores: (taskId: string, belonging: Belonging): void => {
      const entry = tasks.get(taskId);
      if (entry) entry.belongings = withBelonging(entry.belongings, belonging);
    },
    /** Must be called after COMMIT with every appended event. Returns the task as the event left it, if it is known. */
    applied: (appended: Appended): TaskRecord | undefined => {
      const entry = tasks.get(appended.event.taskId);
      if (!entry) return undefined;
      entry.record = recordAfter(entry.record, appended);
      if (appended.isTerminal) {
        tasks.delete(entry.record.id);
        end(entry.record.id, entry);
      }
      return entry.record;
    },
  };
}
