import { z } from 'zod';
import type { Camel } from '../casing.ts';
import { encodeWith } from '../codec.ts';
import type { JsonObject } from '../json.ts';
import { ControlAction, RiskMode } from './request.ts';
import { ControlCode, ControlStatus, ControlWarning } from './response.ts';

/** What a strategy is at the moment; at most one of a concern is active (design 4, State). */
export const StrategyStatus = z.enum(['standby', 'active', 'disabled', 'faulted']);
export type StrategyStatus = z.infer<typeof StrategyStatus>;

const id = z.string().min(1).max(200);
const amount = z.string().describe('A decimal number, in the quote asset');
const quantity = z.string().describe('A decimal number, in units of the base asset');
const count = z.int().nonnegative();
const time = z.string().describe('RFC 3339');

/** The parameters of `list_strategies()`: all of them narrow it down. */
export const ListStrategiesParams = z.strictObject({
  account_id: id.optional().describe('Of this account only'),
  market_symbol: id.optional().describe('Of this market only'),
  status: StrategyStatus.optional().describe('Of this status only'),
});

/** The parameters of `get_strategy()`. */
export const GetStrategyParams = z.strictObject({
  strategy_id: id.describe('The strategy, as list_strategies names it'),
});

const strategy = z.strictObject({
  id: z.string(),
  name: z.string().describe('For people'),
  kind: z.string().describe('What trades: trend_follower, grid_trader, …'),
  account_id: z.string(),
  market_symbol: z.string(),
  params: z.record(z.string(), z.unknown()).describe('As the kind has them'),
  status: StrategyStatus.describe('active: the one that runs in its concern'),
});

const order = z.strictObject({
  id: z.string(),
  side: z.enum(['buy', 'sell']),
  kind: z.enum(['market', 'limit']),
  purpose: z.enum(['entry', 'exit']).describe('entry opens or adds, exit protects or reduces'),
  quantity,
  limit_price: amount.optional(),
  state: z.enum(['open', 'filled', 'canceled', 'rejected']),
  fill_price: amount.optional(),
  fee: amount.optional(),
  reason: z.string().optional().describe('Why it was rejected, canceled, or made smaller'),
  placed_at: time,
  ended_at: time.optional(),
});

const control = z.strictObject({
  concern_id: z.string(),
  active_strategy_id: z.string().nullable(),
  run_state: z.enum(['running', 'paused']),
  risk_mode: RiskMode,
  execution: z.enum(['ok', 'degraded']),
  rev: count.describe('Counts the changes of the concern'),
});

const position = z.strictObject({
  quantity,
  average_price: amount.nullable(),
  unrealized_pnl: amount,
});

const equity = z.strictObject({
  total: amount,
  cash: amount,
  reserved: amount.describe('Of the cash, by open orders'),
  realized_pnl: amount,
  fees_paid: amount,
});

const execution = z.strictObject({
  state: z.enum(['ok', 'degraded']),
  reasons: z.array(z.string()).describe('Why it is degraded, and what else is wrong'),
  bars: count,
  fills: count,
  rejects: count,
  consecutive_errors: count,
  average_slippage_bps: z.string().nullable(),
  last_bar: z.strictObject({ at: time, close: amount }).nullable(),
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

/** What `list_strategies()` answers. */
export const StrategyListWire = z.strictObject({
  strategies: z.array(strategy).describe("Those of the caller's accounts"),
});
export type StrategyList = Camel<z.output<typeof StrategyListWire>>;

/** What `get_strategy()` answers. */
export const StrategyDetailWire = z.strictObject({
  strategy,
  control: control.describe('The concern that it belongs to'),
  position: position.nullable().describe("The concern's, whichever strategy runs; null without an engine"),
  equity: equity.nullable().describe("The concern's; null without an engine"),
  orders: z
    .strictObject({
      open: z.array(order),
      recent: z.array(order).describe('The newest first'),
    })
    .describe("The strategy's own"),
  execution: execution.nullable().describe('How well the concern is traded; null without an engine'),
  last_decisions: z.array(decision).max(10).describe("The concern's, the newest first"),
});
export type StrategyDetail = Camel<z.output<typeof StrategyDetailWire>>;

/** The answers as they stand on the wire. */
export const encodeStrategyList = (list: StrategyList): JsonObject => encodeWith(StrategyListWire, list);
export const encodeStrategyDetail = (detail: StrategyDetail): JsonObject =>
  encodeWith(StrategyDetailWire, detail);
