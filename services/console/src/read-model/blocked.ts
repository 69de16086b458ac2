import { integer, type Queries, text } from '@hermes-fleet/store';
import type { Range } from './ranges.ts';

/** Ends of tasks that entered; an empty reason is that of all that were not blocked. */
export interface EndCount {
  readonly at: number;
  readonly reason: string;
  readonly tasks: number;
  readonly saved: number;
}

export function endsIn(db: Queries, { width, since, until, stepMs }: Range): EndCount[] {
  return db
    .all(
      `SELECT at - at % ?4 AS start, reason, sum(tasks) AS tasks, sum(saved) AS saved FROM ends
       WHERE width = ?1 AND at >= ?2 AND at < ?3 GROUP BY start, reason ORDER BY start, reason`,
      ...[width, since, until, stepMs],
    )
    .map((row) => ({
      at: integer(row, 'start'),
      reason: text(row, 'reason'),
      tasks: integer(row, 'tasks'),
      saved: integer(row, 'saved'),
    }));
}

/** A requirement that was unmet. */
export interface Need {
  readonly kind: string;
  readonly name: string;
  readonly tasks: number;
  /** The tasks that it alone blocked. */
  readonly alone: number;
  readonly saved: number;
}

const MAX_NEEDS = 50;

/** The requirements that blocked the most tasks, those that alone did so first. */
export function needsIn(db: Queries, { width, since, until }: Range): Need[] {
  return db
    .all(
      `SELECT kind, name, sum(tasks) AS tasks, sum(alone) AS alone, sum(saved) AS saved FROM needs
       WHERE width = ?1 AND at >= ?2 AND at < ?3 GROUP BY kind, name
       ORDER BY alone DESC, tasks DESC, kind, name LIMIT ?4`,
      ...[width, since, until, MAX_NEEDS],
    )
    .map((row) => ({
      kind: text(row, 'kind'),
      name: text(row, 'name'),
      tasks: integer(row, 'tasks'),
      alone: integer(row, 'alone'),
      saved: integer(row, 'saved'),
    }));
}
