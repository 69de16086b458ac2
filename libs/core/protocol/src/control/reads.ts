import { z } from 'zod';
import type { Camel } from '../wire/casing.ts';
import { encodeWith } from '../wire/codec.ts';
import type { JsonObject } from '../wire/json.ts';
import { ControlAction, RiskMode } from './request.ts';
import { ControlCode, ControlStatus, ControlWarning } from './response.ts';

/** The current status of a strategy. At most one strategy of a concern is active (docs/trader.md#state). */
export const StrategyStatus = z.enum(['standby', 'active', 'disabled', 'faulted']);
export type StrategyStatus = z.infer<typeof StrategyStatus>;

const id = z.string().min(1).max(200);
const amount = z.string().describe('A decimal number, in the quote asset');
const quantity = z.string().describe('A decimal number, in units of the base asset');
const count = z.int().nonnegative();
const ratio = z.number().nullable().describe('A ratio: 0.1 is 10 %. Null if it is not defined');
const time = z.string().describe('RFC 3339');

/** The parameters of `list_strategies()`: each narrows the list. */
export const ListStrategiesParams = z.strictObject({
  account_id: id.optional().describe('Only strategies of this account'),
  market_symbol: id.optional().describe('Only strategies of this market'),
  status: StrategyStatus.optional().describe('Only strategies with this status'),
});

/** The parameters of `get_strategy()`. */
export const GetStrategyParams = z.strictObject({
  strategy_id: id.describe('Id of the strategy, from list_strategies'),
});

const strategy = z.strictObject({
  id: z.string(),
  name: z.string().describe('Display name'),
  kind: z.string().describe('Trading algorithm: trend_follower, grid_trader, …'),
  account_id: z.string(),
  market_symbol: z.string(),
  params: z.record(z.string(), z.unknown()).describe('Parameters of the kind'),
  status: StrategyStatus.describe('active: the strategy that its concern runs'),
});

const order = z.strictObject({
  id: z.string(),
  side: z.enum(['buy', 'sell']),
  kind: z.enum(['market', 'limit']),
  purpose: z
    .enum(['entry', 'exit'])
    .describe('entry opens or adds to a position, exit protects or reduces it'),
  quantity,
  limit_price: amount.optional(),
  state: z.enum(['open', 'filled', 'canceled', 'rejected']),
  fill_price: amount.optional(),
  fee: amount.optional(),
  reason: z.string().optional().describe('Reason for a rejection, a cancellation or a reduced size'),
  placed_at: time,
  ended_at: time.optional(),
});

const control = z.strictObject({
  concern_id: z.string(),
  active_strategy_id: z.string().nullable(),
  run_state: z.enum(['running', 'paused']),
  risk_mode: RiskMode,
  execution: z.enum(['ok', 'degraded']),
  rev: count.describe('Revision: the number of changes to the concern'),
});

const position = z.strictObject({
  quantity,
  average_price: amount.nullable(),
  unrealized_pnl: amount,
});

const equity = z.strictObject({
  total: amount,
  cash: amount,
  reserved: amount.describe('Cash that open orders reserve'),
  realized_pnl: amount,
  fees_paid: amount,
});

const execution = z.strictObject({
  state: z.enum(['ok', 'degraded']),
  reasons: z.array(z.string()).describe('Reasons for degraded, and other problems'),
  bars: count,
  fills: count,
  rejects: count,
  consecutive_errors: count,
  average_slippage_bps: z.string().nullable(),
  last_bar: z.strictObject({ at: time, close: amount }).nullable(),
});

const performance = z.strictObject({
  strategy: z
    .strictObject({
      return: ratio,
      max_drawdown: ratio,
      realized_profit: amount,
      fees: amount,
      fills: count,
      win_rate: ratio.describe('Part of the sales with a net profit; null without a sale'),
    })
    .nullable()
    .describe('While the strategy was active; null if it never was for a whole bar'),
  account: z
    .strictObject({ return: ratio, drawdown: ratio, max_drawdown: ratio })
    .describe('The whole account, whichever strategy ran'),
});

const decision = z.strictObject({
  decision_id: z.string(),
  caller: z.string(),
  action: ControlAction,
  status: ControlStatus,
  from_strategy_id: z.string().nullable(),
  to_strategy_id: z.string().nullable(),
  risk_mode: RiskMode.nullable(),
  warnings: z.array(ControlWarning),
  errors: z.array(ControlCode),
  decided_at: time,
});

/** The response of `list_strategies()`. */
export const StrategyListWire = z.strictObject({
  strategies: z.array(strategy).describe("Strategies of the caller's accounts"),
});
export type StrategyList = Camel<z.output<typeof StrategyListWire>>;

/** The response of `get_strategy()`. */
export const StrategyDetailWire = z.strictObject({
  strategy,
  control: control.describe('Concern of the strategy'),
  position: position
    .nullable()
    .describe('Position of the concern, whichever strategy runs; null without an engine'),
  equity: equity.nullable().describe('Equity of the concern; null without an engine'),
  performance: performance
    .nullable()
    .describe('Since the account was opened; null until the books are read. GET /books/performance has more'),
  orders: z
    .strictObject({
      open: z.array(order),
      recent: z.array(order).describe('Newest first'),
    })
    .describe('Orders of the strategy'),
  execution: execution.nullable().describe('Execution quality of the concern; null without an engine'),
  last_decisions: z.array(decision).max(10).describe('Decisions on the concern, newest first'),
});
export type StrategyDetail = Camel<z.output<typeof StrategyDetailWire>>;

export const encodeStrategyList = (list: StrategyList): JsonObject => encodeWith(StrategyListWire, list);
export const encodeStrategyDetail = (detail: StrategyDetail): JsonObject =>
  encodeWith(StrategyDetailWire, detail);
