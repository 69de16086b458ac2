import { TASK_EVENTS } from '@hermes-fleet/protocol';
import { integer, json, oneOf, type Queries, type Row, rowReader } from '@hermes-fleet/store';
import type { TaskRecord } from './task-rows.ts';

const type = (row: Row) => oneOf(row, 'type', TASK_EVENTS);
const readEvent = rowReader({ number: integer, at: integer, type, data: json });
export type StoredEvent = ReturnType<typeof readEvent> & { readonly task: TaskRecord };

export const MAX_ENTRIES = 2_000;
/** Of each task of a large tree, so many of the newest. */
const MIN_OF_TASK = 100;

/** The newest events of some tasks, in the order of their time, and whether older ones were left out. */
export function timelineOf(
  db: Queries,
  tasks: readonly TaskRecord[],
): { readonly events: readonly StoredEvent[]; readonly truncated: boolean } {
  const each = Math.max(MIN_OF_TASK, Math.ceil((MAX_ENTRIES * 2) / tasks.length));
  let truncated = false;
  const all = tasks.flatMap((task) => {
    const events = eventsOf(db, task, each + 1);
    truncated ||= events.length > each;
    return events.slice(-each);
  });
  all.sort((a, b) => a.at - b.at || compare(a.task.profile, b.task.profile) || a.number - b.number);
  truncated ||= all.length > MAX_ENTRIES;
  return { events: all.slice(-MAX_ENTRIES), truncated };
}

/** The newest events of one task, the oldest first. */
export function eventsOf(db: Queries, task: TaskRecord, limit: number): StoredEvent[] {
  return db
    .all(
      'SELECT number, at, type, data FROM events WHERE task = ? ORDER BY n DESC LIMIT ?',
      ...[task.n, Math.min(limit, MAX_ENTRIES + 1)],
    )
    .reverse()
    .map((row) => ({ task, ...readEvent(row) }));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
