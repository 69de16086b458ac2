import type { AdmittedTask } from './execution.ts';

/** The part of pino's logger that packages use. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Discards every entry. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

const TRACE_ID = /^[0-9a-f]{2}-[0-9a-f]{32}-/;
const TRACE_ID_AT = 3;
const TRACE_ID_LENGTH = 32;
const NO_TRACE = {};

/** The IDs in a log line about a task: a search for one of them follows the task through the fleet. */
export interface TaskFields {
  /** The task's ID at this profile. A peer that the task is sent to knows it as `dispatch_id`. */
  readonly task_id: string;
  /** The caller's name for the task (`task.task_id` of the dispatch). */
  readonly dispatch_id: string;
  /** The `dispatch_id` of the first task of the chain, the same at every profile. */
  readonly root_id: string;
  /** From the `traceparent` of the request that created the task, the same at every profile. */
  readonly trace_id?: string;
}

export function taskFields(task: Pick<AdmittedTask, 'id' | 'dispatch' | 'traceparent'>): TaskFields {
  const { taskId, rootId } = task.dispatch.task;
  return { task_id: task.id, dispatch_id: taskId, root_id: rootId ?? taskId, ...traceField(task) };
}

/** The `trace_id` of a `traceparent`, if it has one. */
export function traceField({ traceparent }: Pick<AdmittedTask, 'traceparent'>): {
  readonly trace_id?: string;
} {
  if (traceparent === undefined || !TRACE_ID.test(traceparent)) return NO_TRACE;
  return { trace_id: traceparent.slice(TRACE_ID_AT, TRACE_ID_AT + TRACE_ID_LENGTH) };
}

/** A log whose lines all have these fields. */
export function logWith(log: Log, fields: object): Log {
  return {
    debug: (more, message) => log.debug({ ...fields, ...more }, message),
    info: (more, message) => log.info({ ...fields, ...more }, message),
    warn: (more, message) => log.warn({ ...fields, ...more }, message),
    error: (more, message) => log.error({ ...fields, ...more }, message),
  };
}
