import { integer, type Queries, text } from '@hermes-fleet/store';
import type { Counts } from '../projection/task-facts.ts';
import type { Range } from './ranges.ts';
import { countsIn, type TaskRecord, taskRecord } from './task-rows.ts';

/** The columns of the sums by which spending is shown. */
export const SPENDING_BY = {
  profile: 'profile',
  tier: 'model_tier',
  model: 'model',
  caller: 'caller',
} as const;
export type SpendingBy = keyof typeof SPENDING_BY;

export interface SpentTokens {
  readonly at: number;
  readonly key: string;
  readonly tokens: number;
}

export function spentIn(db: Queries, { width, since, until, stepMs }: Range, by: SpendingBy): SpentTokens[] {
  return db
    .all(
      `SELECT at - at % ?4 AS start, ${SPENDING_BY[by]} AS key, sum(tokens) AS tokens FROM spending
       WHERE width = ?1 AND at >= ?2 AND at < ?3 GROUP BY start, key ORDER BY start, key`,
      ...[width, since, until, stepMs],
    )
    .map((row) => ({
      at: integer(row, 'start'),
      key: text(row, 'key'),
      tokens: integer(row, 'tokens'),
    }));
}

export interface SpentByModel {
  readonly key: string;
  readonly model: string;
  readonly tokens: number;
  readonly counts: Counts;
  readonly tasks: number;
  readonly overruns: number;
  /** Tokens of which no event said the kinds. */
  readonly uncounted: number;
}

export function totalsIn(db: Queries, { width, since, until }: Range, by: SpendingBy): SpentByModel[] {
  return db
    .all(
      `SELECT ${SPENDING_BY[by]} AS key, model, sum(tokens) AS tokens, sum(input) AS input, sum(output) AS output,
         sum(cache_read) AS cache_read, sum(cache_write) AS cache_write, sum(reasoning) AS reasoning,
         sum(tasks) AS tasks, sum(overruns) AS overruns, sum(uncounted) AS uncounted
       FROM spending WHERE width = ?1 AND at >= ?2 AND at < ?3 GROUP BY key, model ORDER BY key, model`,
      ...[width, since, until],
    )
    .map((row) => ({
      key: text(row, 'key'),
      model: text(row, 'model'),
      tokens: integer(row, 'tokens'),
      counts: countsIn(row),
      tasks: integer(row, 'tasks'),
      overruns: integer(row, 'overruns'),
      uncounted: integer(row, 'uncounted'),
    }));
}

/** The tasks that entered, ended in the range and spent the most, with what their parts spent. */
export function dearestTasks(db: Queries, { since, until }: Range, limit: number): TaskRecord[] {
  return db
    .all(
      `SELECT * FROM tasks WHERE n IN (
         SELECT n FROM tasks INDEXED BY tasks_by_spending
         WHERE entered = 1 AND ended_at >= ?1 AND ended_at < ?2 AND spent_tokens > 0
         ORDER BY spent_tokens DESC LIMIT ?3)
       ORDER BY spent_tokens DESC, n`,
      ...[since, until, limit],
    )
    .map(taskRecord);
}
