import { PAGE, type Read, type Service } from '@hermes-fleet/net/api';
import { type Figures, TRADER } from '@hermes-fleet/protocol/api';
import { fleetApi } from '../client/api.ts';
import { columns, line, shown, table } from '../command-line/output.ts';
import { percent, ratio } from './render.ts';

export type OrdersKind = 'orders' | 'fills';
type Order = Read<typeof TRADER.orders>['orders'][number];

/** At most `limit` orders or fills, from as many pages as it takes. Throws as the client. */
export async function readOrders(
  trader: Service,
  kind: OrdersKind,
  query: Readonly<Record<string, string>>,
  limit: number,
): Promise<Order[]> {
  const rows: Order[] = [];
  let after: string | null = null;
  do {
    const size = `${Math.min(PAGE, limit - rows.length)}`;
    const page: Record<string, string> = { ...query, ...(after !== null && { after }), limit: size };
    const read =
      kind === 'fills'
        ? await fleetApi().call(trader, TRADER.fills, { query: page })
        : await fleetApi().call(trader, TRADER.orders, { query: page });
    rows.push(...('fills' in read ? read.fills : read.orders));
    after = read.next;
  } while (after !== null && rows.length < limit);
  return rows;
}

const ORDER_KEYS = [
  ...(['at', 'event', 'side', 'quantity', 'limit_price', 'fill_price', 'fee', 'realized_pnl'] as const),
  ...(['strategy_id', 'decision_id', 'reason'] as const),
];

/** A table of orders or fills. */
export function renderOrders(rows: readonly Order[]): string[] {
  return table(
    ORDER_KEYS.map((key) => key.replaceAll('_', ' ')),
    rows.map((row) => ORDER_KEYS.map((key) => row[key] ?? '')),
    'none',
  );
}

/** Lines for `/books/performance`. */
export function renderPerformance(found: Read<typeof TRADER.performance>): string[] {
  const { total, strategies, decisions } = found;
  return [
    `${found.concern_id}, since ${shown(found.since)}`,
    line('equity', `${total.equity}, from ${total.opening_equity}`),
    line('return', percent(total.return)),
    line('drawdown', `${percent(total.drawdown)} now, ${percent(total.max_drawdown)} at most`),
    line('sharpe', `${ratio(total.sharpe)}, sortino ${ratio(total.sortino)}, a year`),
    line(
      'sales',
      `${total.sales}, ${percent(total.win_rate)} with a profit; profit factor ${ratio(total.profit_factor)}`,
    ),
    line('profit', `${total.realized_profit} realized, ${total.fees} fees`),
    line('exposure', percent(total.exposure)),
    '',
    ...figures('strategy', strategies, ({ strategy_id }) => strategy_id),
    '',
    ...figures('decision', decisions, ({ decision_id }) => decision_id),
  ];
}

const figures = <T extends Read<typeof Figures>>(
  of: string,
  rows: readonly T[],
  idOf: (row: T) => string | null,
): string[] =>
  columns(
    [of, 'return', 'drawdown', 'sharpe', 'profit', 'fees', 'fills', 'wins', 'bars'],
    rows.map((each) => [
      ...[idOf(each) ?? 'none', percent(each.return), percent(each.max_drawdown), ratio(each.sharpe)],
      ...[each.realized_profit, each.fees, each.fills, percent(each.win_rate), each.bars],
    ]),
  );
