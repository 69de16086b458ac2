import type { Queries } from '@hermes-fleet/store';
import { type Prices, sumOfCosts } from '../config/token-prices.ts';
import { countsBy, sumOfCounts, type Usage, usageOf } from '../projection/project-task.ts';
import type { Range } from '../read-model/ranges.ts';
import { type SpentTokens, treesSpending } from '../read-model/spending.ts';
import type { TaskRecord } from '../read-model/task-rows.ts';
import { ownCost } from './costs.ts';
import { sumOf } from './query.ts';

type TreeSpending = ReturnType<typeof treesSpending>[number];

/** What is spent under one key. */
export interface Total {
  readonly key: string;
  readonly tasks: number;
  readonly tokens: number;
  readonly usage: Usage;
  readonly cost: number | null;
  readonly overruns: number;
}

/** Sums, and tokens over time, by key. */
export interface Spending {
  readonly totals: readonly Total[];
  readonly spent: readonly SpentTokens[];
}

/** What the trees of some tasks spent, and under the name `rest` what is left of `all` beside them. */
export function spendingByTree(
  db: Queries,
  { since, until, stepMs }: Range,
  {
    roots,
    all,
    rest,
  }: { readonly roots: readonly TaskRecord[]; readonly all: Spending; readonly rest: string },
  prices: Prices,
): Spending {
  const named = new Set([rest]);
  const totals: Total[] = [];
  const spent: SpentTokens[] = [];
  for (const tree of treesSpending(db, roots)) {
    const { root } = tree;
    const inRange = tree.spent.filter(({ at }) => at >= since && at < until);
    const key = named.has(root.taskId) ? `${root.taskId} (${root.id})` : root.taskId;
    named.add(key);
    totals.push(totalOf(key, { ...tree, spent: inRange }, prices));
    spent.push(...inRange.map(({ at, tokens }) => ({ at: at - (at % stepMs), key, tokens })));
  }
  const left = restOf(rest, all.totals, totals);
  return {
    totals: left.tokens === 0 ? totals : [...totals, left],
    spent: left.tokens === 0 ? spent : [...spent, ...spentBeside(rest, all.spent, spent)],
  };
}

function spentBeside(key: string, all: readonly SpentTokens[], trees: readonly SpentTokens[]): SpentTokens[] {
  const ofTrees = Map.groupBy(trees, ({ at }) => at);
  return [...Map.groupBy(all, ({ at }) => at)].map(([at, spent]) => {
    const tokens = Math.max(
      0,
      sumOf(spent, ({ tokens }) => tokens) - sumOf(ofTrees.get(at) ?? [], ({ tokens }) => tokens),
    );
    return { at, key, tokens };
  });
}

const totalOf = (key: string, { nodes, spent }: Omit<TreeSpending, 'root'>, prices: Prices): Total => ({
  key,
  tasks: nodes.filter(({ ownTokens }) => ownTokens > 0).length,
  tokens: sumOf(spent, ({ tokens }) => tokens),
  usage: usageOf(sumOfCounts(nodes.map(({ counts }) => counts))),
  cost: prices.isEmpty ? null : sumOfCosts(nodes.map((node) => ownCost(node, prices))),
  overruns: nodes.filter(({ overrun }) => overrun).length,
});

function restOf(key: string, all: readonly Total[], trees: readonly Total[]): Total {
  const left = (of: (total: Total) => number): number => Math.max(0, sumOf(all, of) - sumOf(trees, of));
  const costs = [...all, ...trees].map(({ cost }) => cost);
  return {
    key,
    tasks: left(({ tasks }) => tasks),
    tokens: left(({ tokens }) => tokens),
    usage: usageOf(countsBy((_kind, name) => left(({ usage }) => usage[name]))),
    cost: costs.includes(null) ? null : left(({ cost }) => cost ?? 0),
    overruns: left(({ overruns }) => overruns),
  };
}
