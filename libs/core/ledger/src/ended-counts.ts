import type { TaskState } from '@hermes-fleet/protocol';
import { numberOf, type Queries, text } from '@hermes-fleet/store';
import { taskState } from './rows.ts';
import { TERMINAL_STATES } from './states.ts';

/*
 * How many ended tasks each caller has in each state, by the hour and the minute of their last update: a count of them reads
 * whole hours, then whole minutes, and at most one minute of tasks one by one.
 */

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** The durations that tasks are counted by, in ms. */
export const COUNT_WIDTHS = [HOUR_MS, MINUTE_MS] as const;

/** Ended tasks of one caller in one state. */
export interface EndedGroup {
  readonly caller: string;
  readonly state: TaskState;
}

/** Adds to a count; one that becomes zero is forgotten. */
export function writeEndedCount(
  db: Queries,
  { caller, state }: EndedGroup,
  width: number,
  bucket: number,
  by: number,
): void {
  if (by === 0) return;
  const key = [caller, state, width, bucket] as const;
  db.run(
    `INSERT INTO ended_counts (caller, state, width, bucket, tasks) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks`,
    ...key,
    by,
  );
  const sql =
    'DELETE FROM ended_counts WHERE caller = ? AND state = ? AND width = ? AND bucket = ? AND tasks = 0';
  if (by < 0) db.run(sql, ...key);
}

/** How many ended tasks of a group were last updated at `from` (ms since the epoch) or later. */
export function countEndedSince(db: Queries, group: EndedGroup, from: number | undefined): number {
  if (from === undefined) return sumOf(db, group, HOUR_MS, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  const minute = Math.ceil(from / MINUTE_MS);
  const hour = Math.ceil(from / HOUR_MS);
  return (
    numberOf(
      db,
      'SELECT count(*) FROM endings WHERE caller = ? AND state = ? AND updated_at >= ? AND updated_at < ?',
      group.caller,
      group.state,
      from,
      minute * MINUTE_MS,
    ) +
    sumOf(db, group, MINUTE_MS, minute, hour * (HOUR_MS / MINUTE_MS)) +
    sumOf(db, group, HOUR_MS, hour, Number.MAX_SAFE_INTEGER)
  );
}

/** The sum of the buckets from `first` to the one before `end`. */
const sumOf = (
  db: Queries,
  { caller, state }: EndedGroup,
  width: number,
  first: number,
  end: number,
): number =>
  numberOf(
    db,
    `SELECT coalesce(sum(tasks), 0) FROM ended_counts
     WHERE caller = ? AND state = ? AND width = ? AND bucket >= ? AND bucket < ?`,
    caller,
    state,
    width,
    first,
    end,
  );

/** The groups that a caller's ended tasks can be in; with undefined, those of every caller. */
export function endedGroups(db: Queries, caller: string | undefined): EndedGroup[] {
  const callers = caller === undefined ? endedCallers(db) : [caller];
  return callers.flatMap((each) => [...TERMINAL_STATES].map((state) => ({ caller: each, state })));
}

/** The groups with ended tasks whose last update may be before a time (ms since the epoch), by the count of their first hour. */
export function groupsBefore(db: Queries, before: number): EndedGroup[] {
  return db
    .all(
      `WITH RECURSIVE ${FOUND}
       SELECT f.caller, s.value AS state FROM found f CROSS JOIN json_each(?1) s
       WHERE (SELECT min(c.bucket) FROM ended_counts c
              WHERE c.caller = f.caller AND c.state = s.value AND c.width = ${HOUR_MS}) * ${HOUR_MS} < ?2`,
      JSON.stringify([...TERMINAL_STATES]),
      before,
    )
    .map((row) => ({ caller: text(row, 'caller'), state: taskState(row) }));
}

/** Finds the callers of ended tasks; skips from one to the next in the index. */
const FOUND = `found (caller) AS (
  SELECT min(caller) FROM endings
  UNION ALL
  SELECT (SELECT min(e.caller) FROM endings e WHERE e.caller > found.caller) FROM found
  WHERE found.caller IS NOT NULL)`;

function endedCallers(db: Queries): string[] {
  return db
    .all(`WITH RECURSIVE ${FOUND} SELECT caller FROM found WHERE caller IS NOT NULL`)
    .map((row) => text(row, 'caller'));
}
