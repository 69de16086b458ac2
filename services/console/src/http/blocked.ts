import type { Queries } from '@hermes-fleet/store';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { endsIn, needsIn } from '../read-model/blocked.ts';
import { bucketsOf, type Range } from '../read-model/ranges.ts';
import { iso } from '../read-model/task-rows.ts';
import type { ApiOptions } from './options.ts';
import { RANGE_QUERY, rangeIn, readInput, sumOf } from './query.ts';

const BlockedQuery = z.strictObject(RANGE_QUERY);

/** `GET /api/blocked`: the ends of tasks that entered (docs/console.md#api). */
export function registerBlocked(scope: FastifyInstance, { store, clock }: ApiOptions): void {
  scope.get('/api/blocked', (request) => {
    const range = rangeIn(readInput(BlockedQuery, request.query), clock);
    return store.read((db) => blockedDocument(db, range));
  });
}

function blockedDocument(db: Queries, range: Range) {
  const ends = endsIn(db, range);
  const blocked = ends.filter(({ reason }) => reason !== '');
  const byTime = Map.groupBy(ends, ({ start }) => start);
  return {
    bucket_s: range.stepMs / 1_000,
    buckets: bucketsOf(range).map((at) => {
      const group = byTime.get(at) ?? [];
      const reasons = group.filter(({ reason }) => reason !== '').map(({ reason, tasks }) => [reason, tasks]);
      /** The tasks that were blocked, by reason. */
      const blocked: Readonly<Record<string, number>> = Object.fromEntries(reasons);
      return { at: iso(at), ended: sumOf(group, ({ tasks }) => tasks), blocked };
    }),
    ended: sumOf(ends, ({ tasks }) => tasks),
    blocked: sumOf(blocked, ({ tasks }) => tasks),
    tokens_saved: sumOf(ends, ({ tokens_saved }) => tokens_saved),
    reasons: [...Map.groupBy(blocked, ({ reason }) => reason)]
      .map(([kind, group]) => ({
        kind,
        tasks: sumOf(group, ({ tasks }) => tasks),
        tokens_saved: sumOf(group, ({ tokens_saved }) => tokens_saved),
      }))
      .sort((a, b) => b.tasks - a.tasks),
    /** Requirements without which the most tasks would not have been blocked: those that were the only unmet one. */
    missing: needsIn(db, range),
  };
}

/** `GET /api/blocked?since=&until=`: of tasks that entered, not of hops. */
export type BlockedDocument = ReturnType<typeof blockedDocument>;
