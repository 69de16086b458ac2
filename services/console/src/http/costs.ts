import { integer, type Queries } from '@hermes-fleet/store';
import { type Prices, sumOfCosts } from '../config/prices.ts';
import { countsIn, type TaskRecord, textOrNull } from '../read-model/task-rows.ts';
import { type Part, type Tree, treesOf } from '../read-model/task-tree.ts';

/** The fields that determine the cost of a task. */
type Spent = Pick<TaskRecord, 'n' | 'ownTokens' | 'delegatedTokens' | 'hasCounts' | 'counts' | 'model'>;

/** A page of the list has hundreds of parts: whole rows of them would be most of its time. */
const SPENT_PART: Part<Spent> = {
  columns: `tasks.n, own_tokens, delegated_tokens, has_counts, model, input, output, cache_read, cache_write, reasoning`,
  read: (row) => ({
    n: integer(row, 'n'),
    ownTokens: integer(row, 'own_tokens'),
    delegatedTokens: integer(row, 'delegated_tokens'),
    hasCounts: integer(row, 'has_counts') === 1,
    counts: countsIn(row),
    model: textOrNull(row, 'model'),
  }),
};

/** The cost of a task's own tokens; null where their kinds or their price are not known. */
export function ownCost({ ownTokens, hasCounts, counts, model }: Spent, prices: Prices): number | null {
  if (prices.isEmpty) return null;
  if (ownTokens === 0 && counts.cacheRead === 0 && counts.cacheWrite === 0) return 0;
  return hasCounts && model !== null ? prices.costOf(model, counts) : null;
}

/** The cost of a task with all its parts; null if the tokens of a part are not known. */
export function treeCost({ task, parts }: Tree<Spent>, prices: Prices): number | null {
  const known = parts.reduce((sum, { task: part }) => sum + part.ownTokens + part.delegatedTokens, 0);
  if (known < task.delegatedTokens) return null;
  return sumOfCosts([ownCost(task, prices), ...parts.map((part) => treeCost(part, prices))]);
}

/** The costs of some tasks with all their parts. */
export function costsOf(
  db: Queries,
  tasks: readonly TaskRecord[],
  prices: Prices,
): (task: TaskRecord) => number | null {
  if (prices.isEmpty) return () => null;
  const spent = tasks.filter(({ spentTokens }) => spentTokens > 0);
  const costs = new Map(treesOf(db, spent, SPENT_PART).map((tree) => [tree.task.n, treeCost(tree, prices)]));
  return ({ n, spentTokens }) => (spentTokens > 0 ? (costs.get(n) ?? null) : 0);
}
