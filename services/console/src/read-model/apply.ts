import type { CloudEvent } from '@hermes-fleet/protocol';
import { integer, type Queries } from '@hermes-fleet/store';
import { type Numbered, readTaskEvent, type TaskEvent, type Unusable } from '../projection/event.ts';
import { boundedData } from '../projection/fields.ts';
import { projectTask } from '../projection/project-task.ts';
import { addToSums } from './sums.ts';
import { findTask, saveTask } from './task-rows.ts';

/** What an event changed: the task, or the view. */
export interface Applied {
  readonly view: 'fleet' | 'tasks' | 'trader';
  /** The task that the event is about, where the view is `tasks`. */
  readonly task?: { readonly profile: string; readonly id: string; readonly entered: boolean };
  readonly hasEnded?: boolean;
  readonly hasSpent?: boolean;
}

/** The data of every task event, which the timeline need not repeat. */
const COMMON = new Set([
  'task_id',
  'caller',
  'context_id',
  'root_id',
  'root_caller',
  'parent_task_id',
  'parent_profile',
]);

/** Projects a task event; undefined for one that was projected before. */
export function applyTaskEvent(
  db: Queries,
  event: CloudEvent,
  subject: string,
): Applied | Unusable | undefined {
  const read = readTaskEvent(event, subject);
  if ('unusable' in read) return read;
  if (!isNew(db, read)) return undefined;
  const { profile, id } = read;
  const known = findTask(db, profile, id);
  const change = projectTask(known, read);
  const row = saveTask(db, change.task, known);
  addToSums(db, change, read.at);
  addToTimeline(db, row, read);
  return {
    view: 'tasks',
    task: { profile, id, entered: change.task.entered },
    hasEnded: change.ended !== undefined,
    hasSpent: change.booking !== undefined,
  };
}

/**
 * True for an event that was not projected yet, which it then counts as. A store numbers its events in order. One that was
 * restored from a backup uses numbers again, for events that are later than all before.
 */
export function isNew(db: Queries, { source, number, at }: Numbered): boolean {
  const row = db.get('SELECT number, at FROM sources WHERE source = ?', source);
  const latest = row && { number: integer(row, 'number'), at: integer(row, 'at') };
  if (latest && number <= latest.number && at <= latest.at) return false;
  const newest = Math.max(at, latest?.at ?? 0);
  db.run('INSERT OR REPLACE INTO sources VALUES (?, ?, ?)', source, number, newest);
  return true;
}

function addToTimeline(db: Queries, task: number, { number, at, type, data }: TaskEvent): void {
  const own = Object.fromEntries(Object.entries(data).filter(([key]) => !COMMON.has(key)));
  const text = JSON.stringify(boundedData(own));
  db.run(
    'INSERT INTO events (task, number, at, type, data) VALUES (?, ?, ?, ?, ?)',
    task,
    number,
    at,
    type,
    text,
  );
}
