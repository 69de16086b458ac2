import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Store } from '@hermes-fleet/store';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type EndCount, endsIn, needsIn } from '../read-model/blocked.ts';
import { bucketsOf, type Range } from '../read-model/ranges.ts';
import { iso } from '../read-model/task-rows.ts';
import type { BlockedDocument } from './api.ts';
import { readInput } from './query.ts';
import { RANGE_QUERY, rangeIn } from './range-query.ts';

const BlockedQuery = z.strictObject(RANGE_QUERY);

/** `GET /api/blocked`: the ends of tasks that entered (docs/console.md#api). */
export function registerBlocked(
  scope: FastifyInstance,
  { store, clock }: { readonly store: Pick<Store, 'read'>; readonly clock: Clock },
): void {
  scope.get('/api/blocked', (request): BlockedDocument => {
    const range = rangeIn(readInput(BlockedQuery, request.query), clock);
    return store.read((db) => {
      const ends = endsIn(db, range);
      const blocked = ends.filter(({ reason }) => reason !== '');
      return {
        bucket_s: range.stepMs / 1_000,
        buckets: bucketRows(ends, range),
        ended: sum(ends, ({ tasks }) => tasks),
        blocked: sum(blocked, ({ tasks }) => tasks),
        tokens_saved: sum(ends, ({ saved }) => saved),
        reasons: [...Map.groupBy(blocked, ({ reason }) => reason)]
          .map(([kind, group]) => ({
            kind,
            tasks: sum(group, ({ tasks }) => tasks),
            tokens_saved: sum(group, ({ saved }) => saved),
          }))
          .sort((a, b) => b.tasks - a.tasks),
        missing: needsIn(db, range).map(({ saved, ...need }) => ({ ...need, tokens_saved: saved })),
      };
    });
  });
}

function bucketRows(ends: readonly EndCount[], range: Range): BlockedDocument['buckets'] {
  const byTime = Map.groupBy(ends, ({ at }) => at);
  return bucketsOf(range).map((at) => {
    const group = byTime.get(at) ?? [];
    const blocked = group.filter(({ reason }) => reason !== '').map(({ reason, tasks }) => [reason, tasks]);
    return { at: iso(at), ended: sum(group, ({ tasks }) => tasks), blocked: Object.fromEntries(blocked) };
  });
}

const sum = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0);
