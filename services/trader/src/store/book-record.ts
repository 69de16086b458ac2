import type { BookEntry } from '@hermes-fleet/market';
import type { JsonObject } from '@hermes-fleet/protocol';

const iso = (ms: number): string => new Date(ms).toISOString();

/** The stored form of an entry, with its names in order. `decisionId` is what `rev` leads to; `recordedAt` in ms since the epoch. */
export function bookRecord(
  entry: BookEntry,
  { decisionId, recordedAt }: { readonly decisionId: string | null; readonly recordedAt: number },
): JsonObject {
  const recorded_at = iso(recordedAt);
  const { at, kind } = entry;
  switch (kind) {
    case 'account':
      return {
        at: iso(at),
        basis: entry.basis,
        cash: entry.cash,
        decision_id: decisionId,
        event: entry.event,
        fees_paid: entry.feesPaid,
        kind,
        position: entry.position,
        realized_pnl: entry.realizedPnl,
        recorded_at,
      };
    case 'order':
      return {
        at: iso(at),
        decision_id: decisionId,
        event: entry.event,
        kind,
        order: orderRecord(entry.order),
        ...(entry.realizedPnl !== undefined && { realized_pnl: entry.realizedPnl }),
        recorded_at,
      };
    case 'bar':
      return {
        at: iso(at),
        cash: entry.cash,
        close: entry.close,
        decision_id: decisionId,
        equity: entry.equity,
        fees_paid: entry.feesPaid,
        kind,
        position: entry.position,
        realized_pnl: entry.realizedPnl,
        recorded_at,
        strategy_id: entry.strategyId,
      };
  }
}

type Order = Extract<BookEntry, { kind: 'order' }>['order'];

function orderRecord(order: Order): JsonObject {
  const { endedAt, fee, fillPrice, limitPrice, reason } = order;
  return {
    ...(endedAt !== undefined && { ended_at: endedAt }),
    ...(fee !== undefined && { fee }),
    ...(fillPrice !== undefined && { fill_price: fillPrice }),
    id: order.id,
    kind: order.kind,
    ...(limitPrice !== undefined && { limit_price: limitPrice }),
    placed_at: order.placedAt,
    purpose: order.purpose,
    quantity: order.quantity,
    ...(reason !== undefined && { reason }),
    side: order.side,
    state: order.state,
    strategy_id: order.strategyId,
  };
}
