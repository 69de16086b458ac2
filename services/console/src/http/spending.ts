import type { Queries } from '@hermes-fleet/store';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type Prices, sumOfCosts } from '../config/token-prices.ts';
import { sumOfCounts, usageOf } from '../projection/project-task.ts';
import { bucketsOf, type Range } from '../read-model/ranges.ts';
import {
  dearestTasks,
  type SpendingBy,
  type SpentByModel,
  type SpentTokens,
  spentIn,
  totalsIn,
} from '../read-model/spending.ts';
import { iso } from '../read-model/task-rows.ts';
import { costsOf } from './costs.ts';
import type { ApiOptions } from './options.ts';
import { RANGE_QUERY, rangeIn, readInput, sumOf } from './query.ts';
import { spendingByTree, type Total } from './spending-by-tree.ts';

const SpendingQuery = z.strictObject({
  ...RANGE_QUERY,
  by: z.enum(['profile', 'tier', 'model', 'caller', 'tree']).default('profile'),
});

/** The keys that have a line of their own over time; the rest is one. */
const MAX_KEYS = 20;
const MAX_TOTALS = 200;
const MAX_TREES = 20;
const OTHER = 'other';

/** `GET /api/spending` (docs/console.md#api). */
export function registerSpending(scope: FastifyInstance, { store, prices, clock }: ApiOptions): void {
  scope.get('/api/spending', (request) => {
    const { by, ...span } = readInput(SpendingQuery, request.query);
    return store.read((db) => spendingDocument(db, rangeIn(span, clock), by, prices));
  });
}

function spendingDocument(db: Queries, range: Range, by: SpendingBy | 'tree', prices: Prices) {
  const column = by === 'tree' ? 'profile' : by;
  const totals = totalsIn(db, range, column);
  const dearest = dearestTasks(db, range, MAX_TREES);
  const sums = [...Map.groupBy(totals, ({ key }) => key)]
    .map(([key, models]) => totalOf(key, models, prices))
    .sort((a, b) => b.tokens - a.tokens || (a.key < b.key ? -1 : 1));
  const all = { totals: sums, spent: spentIn(db, range, column) };
  const { totals: byKey, spent } =
    by === 'tree' ? spendingByTree(db, range, { roots: dearest, all, rest: OTHER }, prices) : all;
  const own = byKey.slice(0, MAX_KEYS).map(({ key }) => key);
  const keys = byKey.length > MAX_KEYS ? [...own, OTHER] : own;
  const spentModels = totals.filter(({ tokens }) => tokens > 0).map(({ model }) => model);
  const costOf = costsOf(db, dearest, prices);
  return {
    bucket_s: range.stepMs / 1_000,
    keys,
    /** For each bucket, the tokens of each key. */
    buckets: bucketRows(spent, range, keys),
    totals: byKey.slice(0, MAX_TOTALS),
    currency: prices.currency,
    /** Models without a price: their cost is not known. */
    unpriced: [...new Set(spentModels)].filter((model) => !prices.has(model)).sort(),
    trees: dearest.map((task) => ({
      profile: task.profile,
      id: task.id,
      task_id: task.taskId,
      caller: task.caller,
      tokens: task.spentTokens,
      budget_tokens: task.budgetTokens,
      cost: costOf(task),
    })),
  };
}

/** `GET /api/spending?since=&until=&by=profile|tier|model|caller|tree`. Trees are the 20 dearest that ended; the rest is `other`. */
export type SpendingDocument = ReturnType<typeof spendingDocument>;

const totalOf = (key: string, models: readonly SpentByModel[], prices: Prices): Total => ({
  key,
  tasks: sumOf(models, ({ tasks }) => tasks),
  tokens: sumOf(models, ({ tokens }) => tokens),
  usage: usageOf(sumOfCounts(models.map(({ counts }) => counts))),
  cost: prices.isEmpty ? null : sumOfCosts(models.map((each) => costOfModel(each, prices))),
  overruns: sumOf(models, ({ overruns }) => overruns),
});

function costOfModel({ model, tokens, counts, uncounted }: SpentByModel, prices: Prices): number | null {
  if (uncounted > 0) return null;
  return tokens === 0 && counts.cacheRead === 0 && counts.cacheWrite === 0 ? 0 : prices.costOf(model, counts);
}

function bucketRows(spent: readonly SpentTokens[], range: Range, keys: readonly string[]) {
  const place = new Map(keys.map((key, index) => [key, index]));
  const byTime = Map.groupBy(spent, ({ at }) => at);
  return bucketsOf(range).map((at) => {
    const tokens = keys.map(() => 0);
    for (const each of byTime.get(at) ?? []) {
      const index = place.get(each.key) ?? keys.length - 1;
      tokens[index] = (tokens[index] ?? 0) + each.tokens;
    }
    return { at: iso(at), tokens };
  });
}
