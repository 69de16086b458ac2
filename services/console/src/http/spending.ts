import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Queries, Store } from '@hermes-fleet/store';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type Prices, sumOfCosts } from '../config/prices.ts';
import type { Counts } from '../projection/task-facts.ts';
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
import type { SpendingDocument } from './api.ts';
import { costsOf } from './costs.ts';
import { readInput } from './query.ts';
import { RANGE_QUERY, rangeIn } from './range-query.ts';
import { spendingByTree } from './spending-by-tree.ts';
import { usageOf } from './task-page.ts';

const SpendingQuery = z.strictObject({
  ...RANGE_QUERY,
  by: z.enum(['profile', 'tier', 'model', 'caller', 'tree']).default('profile'),
});

/** The keys that have a line of their own over time; the rest is one. */
const MAX_KEYS = 20;
const MAX_TOTALS = 200;
const MAX_TREES = 20;
const OTHER = 'other';

export interface SpendingOptions {
  readonly store: Pick<Store, 'read'>;
  readonly prices: Prices;
  readonly clock: Clock;
}

/** `GET /api/spending` (docs/console.md#api). */
export function registerSpending(scope: FastifyInstance, { store, prices, clock }: SpendingOptions): void {
  scope.get('/api/spending', (request): SpendingDocument => {
    const { by, ...span } = readInput(SpendingQuery, request.query);
    const range = rangeIn(span, clock);
    return store.read((db) => spendingDocument(db, range, by, prices));
  });
}

function spendingDocument(
  db: Queries,
  range: Range,
  by: SpendingBy | 'tree',
  prices: Prices,
): SpendingDocument {
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
    buckets: bucketRows(spent, range, keys),
    totals: byKey.slice(0, MAX_TOTALS),
    currency: prices.currency,
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

function totalOf(
  key: string,
  models: readonly SpentByModel[],
  prices: Prices,
): SpendingDocument['totals'][number] {
  const sum = (of: (model: SpentByModel) => number): number =>
    models.reduce((all, each) => all + of(each), 0);
  const counts: Counts = {
    input: sum((each) => each.counts.input),
    output: sum((each) => each.counts.output),
    cacheRead: sum((each) => each.counts.cacheRead),
    cacheWrite: sum((each) => each.counts.cacheWrite),
    reasoning: sum((each) => each.counts.reasoning),
  };
  return {
    key,
    tasks: sum(({ tasks }) => tasks),
    tokens: sum(({ tokens }) => tokens),
    usage: usageOf(counts),
    cost: prices.isEmpty ? null : sumOfCosts(models.map((each) => costOfModel(each, prices))),
    overruns: sum(({ overruns }) => overruns),
  };
}

function costOfModel({ model, tokens, counts, uncounted }: SpentByModel, prices: Prices): number | null {
  if (uncounted > 0) return null;
  return tokens === 0 && counts.cacheRead === 0 && counts.cacheWrite === 0 ? 0 : prices.costOf(model, counts);
}

function bucketRows(
  spent: readonly SpentTokens[],
  range: Range,
  keys: readonly string[],
): SpendingDocument['buckets'] {
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
