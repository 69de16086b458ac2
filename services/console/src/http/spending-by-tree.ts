import type { Queries } from '@hermes-fleet/store';
import { type Prices, sumOfCosts } from '../config/prices.ts';
import type { Counts } from '../projection/task-facts.ts';
import type { Range } from '../read-model/ranges.ts';
import type { SpentTokens } from '../read-model/spending.ts';
import type { TaskRecord } from '../read-model/task-rows.ts';
import { type TreeSpending, treesSpending } from '../read-model/tree-spending.ts';
import type { SpendingDocument } from './api.ts';
import { ownCost } from './costs.ts';
import { usageOf } from './task-page.ts';

type Total = SpendingDocument['totals'][number];

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
  return [...Map.groupBy(all, ({ at }) => at)].map(([at, spent]) => ({
    at,
    key,
    tokens: Math.max(
      0,
      sumOf(spent, ({ tokens }) => tokens) - sumOf(ofTrees.get(at) ?? [], ({ tokens }) => tokens),
    ),
  }));
}

function totalOf(key: string, { nodes, spent }: TreeSpending, prices: Prices): Total {
  const sum = (of: (counts: Counts) => number): number =>
    nodes.reduce((all, { counts }) => all + of(counts), 0);
  return {
    key,
    tasks: nodes.filter(({ ownTokens }) => ownTokens > 0).length,
    tokens: spent.reduce((all, { tokens }) => all + tokens, 0),
    usage: usageOf({
      input: sum(({ input }) => input),
      output: sum(({ output }) => output),
      cacheRead: sum(({ cacheRead }) => cacheRead),
      cacheWrite: sum(({ cacheWrite }) => cacheWrite),
      reasoning: sum(({ reasoning }) => reasoning),
    }),
    cost: prices.isEmpty ? null : sumOfCosts(nodes.map((node) => ownCost(node, prices))),
    overruns: nodes.filter(({ overrun }) => overrun).length,
  };
}

function restOf(key: string, all: readonly Total[], trees: readonly Total[]): Total {
  const left = (of: (total: Total) => number): number => Math.max(0, sumOf(all, of) - sumOf(trees, of));
  const costs = [...all, ...trees].map(({ cost }) => cost);
  return {
    key,
    tasks: left(({ tasks }) => tasks),
    tokens: left(({ tokens }) => tokens),
    usage: {
      input_tokens: left(({ usage }) => usage.input_tokens),
      output_tokens: left(({ usage }) => usage.output_tokens),
      cache_read_tokens: left(({ usage }) => usage.cache_read_tokens),
      cache_write_tokens: left(({ usage }) => usage.cache_write_tokens),
      reasoning_tokens: left(({ usage }) => usage.reasoning_tokens),
    },
    cost: costs.includes(null) ? null : left(({ cost }) => cost ?? 0),
    overruns: left(({ overruns }) => overruns),
  };
}

const sumOf = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0);
