import { integer, type Queries, rowReader, text } from '@hermes-fleet/store';
import type { Range } from './ranges.ts';
import { countsIn, type TaskRecord, taskRecord } from './task-rows.ts';
import { nodesOf, treesOf, WHOLE_PART } from './task-tree.ts';

/** The columns of the sums by which spending is shown. */
const SPENDING_BY = {
  profile: 'profile',
  tier: 'model_tier',
  model: 'model',
  caller: 'caller',
} as const;
export type SpendingBy = keyof typeof SPENDING_BY;

export type SpentTokens = ReturnType<typeof spentIn>[number];

/** Tokens over time by key. */
export const spentIn = (db: Queries, { width, since, until, stepMs }: Range, by: SpendingBy) =>
  db
    .all(
      `SELECT at - at % ?4 AS start, ${SPENDING_BY[by]} AS key, sum(tokens) AS tokens FROM spending
       WHERE width = ?1 AND at >= ?2 AND at < ?3 GROUP BY start, key ORDER BY start, key`,
      ...[width, since, until, stepMs],
    )
    .map((row) => ({ at: integer(row, 'start'), key: text(row, 'key'), tokens: integer(row, 'tokens') }));

export type SpentByModel = ReturnType<typeof totalsIn>[number];

/** Sums by key and model. `uncounted` are tokens of which no event said the kinds. */
export function totalsIn(db: Queries, { width, since, until }: Range, by: SpendingBy) {
  const sums = { tokens: integer, tasks: integer, overruns: integer, uncounted: integer };
  const read = rowReader({ key: text, model: text, ...sums });
  return db
    .all(
      `SELECT ${SPENDING_BY[by]} AS key, model, sum(tokens) AS tokens, sum(input) AS input, sum(output) AS output,
         sum(cache_read) AS cache_read, sum(cache_write) AS cache_write, sum(reasoning) AS reasoning,
         sum(tasks) AS tasks, sum(overruns) AS overruns, sum(uncounted) AS uncounted
       FROM spending WHERE width = ?1 AND at >= ?2 AND at < ?3 GROUP BY key, model ORDER BY key, model`,
      ...[width, since, until],
    )
    .map((row) => ({ ...read(row), counts: countsIn(row) }));
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

/** What some tasks, each with all its parts, have spent at the times at which events told it. */
export const treesSpending = (db: Queries, roots: readonly TaskRecord[]) =>
  treesOf(db, roots, WHOLE_PART).map((tree) => {
    const nodes = nodesOf(tree);
    return { root: tree.task, nodes, spent: nodes.flatMap((node) => spentBy(db, node)) };
  });

/** Tokens that no event of its progress told are those of its end. */
function spentBy(db: Queries, { n, ownTokens, endedAt }: TaskRecord) {
  const told = db
    .all(
      `SELECT at, coalesce(json_extract(data, '$.usage.input_tokens'), 0)
         + coalesce(json_extract(data, '$.usage.output_tokens'), 0) AS tokens
       FROM events WHERE task = ? AND type = 'progress' AND json_type(data, '$.usage') = 'object'
         AND json_type(data, '$.part') IS NULL`,
      n,
    )
    .map(rowReader({ at: integer, tokens: integer }));
  const rest = ownTokens - told.reduce((sum, { tokens }) => sum + tokens, 0);
  return endedAt === null || rest <= 0 ? told : [...told, { at: endedAt, tokens: rest }];
}
