import type { SimulatedOrder } from '@hermes-fleet/market';
import { quoted } from '../books/csv.ts';
import { recordOf } from '../store/book-record.ts';

const COLUMNS = [
  ...['id', 'strategy_id', 'decision_id', 'side', 'kind', 'purpose', 'quantity', 'limit_price', 'state'],
  ...['fill_price', 'fee', 'realized_profit', 'net_profit', 'placed_at', 'ended_at', 'reason'],
];

/** The head of the CSV file of orders. */
export const ORDER_HEAD = COLUMNS.join();

/** An order as a line of CSV. */
export function orderRow({ order, decisionId, sale }: SimulatedOrder): string {
  const [realizedProfit, netProfit] = [sale?.realized.toFixed(), sale?.net.toFixed()];
  const cells = recordOf({ ...order, decisionId, realizedProfit, netProfit });
  return COLUMNS.map((column) => quoted(String(cells[column] ?? ''))).join();
}
