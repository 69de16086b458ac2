import type { Queries } from '@hermes-fleet/store';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { bucketsOf, type Range } from '../read-model/ranges.ts';
import { iso } from '../read-model/task-rows.ts';
import { auditIn, concernsIn, decisionsIn, verdictsIn } from '../read-model/trader.ts';
import type { ApiOptions } from './options.ts';
import { RANGE_QUERY, rangeIn, readInput, sumOf } from './query.ts';

const TraderQuery = z.strictObject(RANGE_QUERY);
const MAX_DECISIONS = 200;

/** `GET /api/trader` (docs/console.md#api). */
export function registerTrader(scope: FastifyInstance, { store, clock }: ApiOptions): void {
  scope.get('/api/trader', (request) => {
    const range = rangeIn(readInput(TraderQuery, request.query), clock);
    return store.read((db) => traderDocument(db, range));
  });
}

function traderDocument(db: Queries, range: Range) {
  const { status = [], code = [] } = Object.groupBy(verdictsIn(db, range), ({ kind }) => kind);
  const byTime = Map.groupBy(status, ({ start }) => start);
  return {
    concerns: concernsIn(db),
    bucket_s: range.stepMs / 1_000,
    buckets: bucketsOf(range).map((at) => {
      const counts = (byTime.get(at) ?? []).map(({ name, count }) => [name, count]);
      const statuses: Readonly<Record<string, number>> = Object.fromEntries(counts);
      return { at: iso(at), statuses };
    }),
    refusals: [...Map.groupBy(code, ({ name }) => name)]
      .map(([code, group]) => ({ code, count: sumOf(group, ({ count }) => count) }))
      .sort((a, b) => b.count - a.count),
    decisions: decisionsIn(db, range, MAX_DECISIONS),
    audit: auditIn(db),
  };
}

/** `GET /api/trader?since=&until=`. */
export type TraderDocument = ReturnType<typeof traderDocument>;
