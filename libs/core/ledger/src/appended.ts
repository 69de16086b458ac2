import type { TaskState } from '@hermes-fleet/protocol';
import type { TaskChange, TaskEvent, TaskRecord } from './types.ts';

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
