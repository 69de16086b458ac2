import { type TaskState, TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import { stateAfter } from './states.ts';
import type { FollowingEvent, TaskChange, TaskEvent, TaskRecord } from './types.ts';

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

/** An event of an unfinished task before it has a sequence, which `sequence` gives. Throws as `stateAfter`, before that. */
export function appendedBy(
  { taskId, at }: Pick<TaskEvent, 'taskId' | 'at'>,
  { event, change }: FollowingEvent,
  sequence: () => number,
): Appended {
  const { type, data } = event;
  const state = stateAfter(event, change);
  const touches = type !== 'text' || change !== undefined;
  const isTerminal = TERMINAL_EVENTS.has(type);
  return { event: { seq: sequence(), taskId, type, at, data }, state, change, touches, isTerminal };
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
