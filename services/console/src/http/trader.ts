import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Store } from '@hermes-fleet/store';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { bucketsOf } from '../read-model/ranges.ts';
import { iso } from '../read-model/task-rows.ts';
import { auditIn, concernsIn, decisionsIn, verdictsIn } from '../read-model/trader.ts';
import type { TraderDocument } from './api.ts';
import { readInput } from './query.ts';
import { RANGE_QUERY, rangeIn } from './range-query.ts';

const TraderQuery = z.strictObject(RANGE_QUERY);
const MAX_DECISIONS = 200;

/** `GET /api/trader` (docs/console.md#api). */
export function registerTrader(
  scope: FastifyInstance,
  { store, clock }: { readonly store: Pick<Store, 'read'>; readonly clock: Clock },
): void {
  scope.get('/api/trader', (request): TraderDocument => {
    const range = rangeIn(readInput(TraderQuery, request.query), clock);
    return store.read((db): TraderDocument => {
      const verdicts = verdictsIn(db, range);
      const byTime = Map.groupBy(verdicts, ({ at }) => at);
      const refusals = Map.groupBy(
        verdicts.filter(({ kind }) => kind === 'code'),
        ({ name }) => name,
      );
      const audit = auditIn(db);
      return {
        concerns: concernsIn(db).map(({ concernId, strategyId, runState, riskMode, at }) => ({
          concern_id: concernId,
          strategy_id: strategyId,
          run_state: runState,
          risk_mode: riskMode,
          at: iso(at),
        })),
        bucket_s: range.stepMs / 1_000,
        buckets: bucketsOf(range).map((at) => {
          const statuses = (byTime.get(at) ?? []).filter(({ kind }) => kind === 'status');
          return {
            at: iso(at),
            statuses: Object.fromEntries(statuses.map(({ name, count }) => [name, count])),
          };
        }),
        refusals: [...refusals]
          .map(([code, group]) => ({ code, count: group.reduce((all, { count }) => all + count, 0) }))
          .sort((a, b) => b.count - a.count),
        decisions: decisionsIn(db, range, MAX_DECISIONS).map((decision) => ({
          at: iso(decision.at),
          decision_id: decision.decisionId,
          concern_id: decision.concernId,
          action: decision.action,
          status: decision.status,
          codes: decision.codes,
          caller: decision.caller,
          audit_seq: decision.auditSeq,
        })),
        audit: audit
          ? {
              ...{ seq: audit.seq, hash: audit.hash, at: iso(audit.at), highest: audit.highest },
              ...{ sound: audit.problem === null, reason: audit.problem },
            }
          : null,
      };
    });
  });
}
