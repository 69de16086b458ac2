import type { SimulatedOrder } from '@hermes-fleet/market';

const COLUMNS = [
  'id',
  'strategy_id',
  'decision_id',
  'side',
  'kind',
  'purpose',
  'quantity',
  'limit_price',
  'state',
  'fill_price',
  'fee',
  'realized_profit',
  'net_profit',
  'placed_at',
  'ended_at',
  'reason',
] as const;

/** The head of the CSV file of orders. */
export const ORDER_HEAD = COLUMNS.join();

/** An order as a line of CSV. */
export function orderRow({ order, decisionId, sale }: SimulatedOrder): string {
  const cells: Record<(typeof COLUMNS)[number], string | undefined> = {
    id: order.id,
    strategy_id: order.strategyId,
    decision_id: decisionId,
    side: order.side,
    kind: order.kind,
    purpose: order.purpose,
    quantity: order.quantity,
    limit_price: order.limitPrice,
    state: order.state,
    fill_price: order.fillPrice,
    fee: order.fee,
    realized_profit: sale?.realized.toFixed(),
    net_profit: sale?.net.toFixed(),
    placed_at: order.placedAt,
    ended_at: order.endedAt,
    reason: order.reason,
  };
  return COLUMNS.map((column) => quoted(cells[column] ?? '')).join();
}

/** In quotes where CSV needs them (RFC 4180). */
const quoted = (text: string): string => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
