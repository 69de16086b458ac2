import { z } from 'zod';
import { StrategyDetailWire, StrategyListWire } from '../control/reads.ts';
import { ControlResponseWire } from '../control/response.ts';
import { Amount, Figures } from './figures.ts';
import { Broken, Head } from './reports.ts';
import { get, post } from './route.ts';

const text = z.string();
const count = z.int().nonnegative();

/** What is wrong with an audit, as an operator sees and accepts it. */
const AuditFinding = z.object({
  id: text,
  reason: text,
  broken: Broken,
  /** The published head that the audit contradicts. */
  published: Head.extend({ store: text.optional() }).nullable(),
});

const AuditState = z.object({
  state: z.enum(['unknown', 'ok', 'broken']),
  detail: text.nullable(),
  finding: AuditFinding.nullable(),
});

/** An order with what became of it, as the books have it. */
const Order = z.object({
  entry: count,
  recorded_at: text,
  at: text,
  event: text,
  decision_id: text.nullable(),
  id: text,
  strategy_id: text,
  side: z.enum(['buy', 'sell']),
  kind: text,
  purpose: text,
  quantity: Amount,
  limit_price: Amount.optional(),
  fill_price: Amount.optional(),
  fee: Amount.optional(),
  realized_pnl: Amount.optional(),
  state: text,
  reason: text.optional(),
  placed_at: text,
  ended_at: text.optional(),
});

const Fill = Order.extend({ fill_price: Amount, fee: Amount });

/** The account at the end of a bar. */
const EquityPoint = z.object({
  entry: count,
  recorded_at: text,
  at: text,
  decision_id: text.nullable(),
  strategy_id: text.nullable(),
  close: Amount,
  cash: Amount,
  position: Amount,
  realized_pnl: Amount,
  fees_paid: Amount,
  equity: Amount,
});

const Page = z.object({ concern_id: text, next: text.nullable() });
const Account = z.object({ equity: text, position: text });

/** The routes of the trader beside those of every member (docs/trader.md#read-the-books). */
export const TRADER = {
  orders: get('/books/orders', Page.extend({ orders: z.array(Order) })),
  fills: get('/books/fills', Page.extend({ fills: z.array(Fill) })),
  performance: get(
    '/books/performance',
    z.object({
      concern_id: text,
      since: text.nullable(),
      total: Figures,
      strategies: z.array(Figures.extend({ strategy_id: text.nullable() })),
      decisions: z.array(Figures.extend({ decision_id: text.nullable(), strategy_id: text.nullable() })),
      equity: z.array(EquityPoint),
    }),
  ),
  reset: post('/books/reset', z.object({ concern_id: text, before: Account, after: Account })),
  audit: get('/audit', AuditState),
  acceptAudit: post('/audit/accept', AuditState.extend({ accepted: Head })),
};

/** The methods of the trader over JSON-RPC (docs/trader.md#transports). */
export const TRADER_RPC = {
  listStrategies: { method: 'list_strategies', answer: StrategyListWire },
  getStrategy: { method: 'get_strategy', answer: StrategyDetailWire },
  decide: { method: 'apply_control_decision', answer: ControlResponseWire },
};
