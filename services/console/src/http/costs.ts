import type { Queries } from '@hermes-fleet/store';
import { type Prices, sumOfCosts } from '../config/token-prices.ts';
import { factsReader, type TaskRecord } from '../read-model/task-rows.ts';
import { type Tree, treesOf } from '../read-model/task-tree.ts';

/** What determines the cost of a task. A page of the list has hundreds of parts: whole rows of them would be most of its time. */
const SPENT_PART = factsReader(['ownTokens', 'delegatedTokens', 'hasCounts', 'model']);
type Spent = ReturnType<typeof SPENT_PART.read>;

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
