import { ControlAction, ControlCode, ControlStatus, RiskMode } from '@hermes-fleet/protocol/control';
import type { Families } from '@hermes-fleet/service';

export const RUN_STATES = ['running', 'paused'] as const;
/** `<account>:<market>`. */
const CONCERN = { from: 'concerns' } as const;
/** The name of a strategy, `none` for a concern without one, and `other` for the ones that have no label of their own. */
const STRATEGY = { from: 'strategies', and: ['none'] } as const;

const ofConcern = (help: string) => ({ help, labels: { concern: CONCERN }, read: true }) as const;
const ofStrategy = (help: string) =>
  ({ help, labels: { concern: CONCERN, strategy: STRATEGY }, read: true }) as const;

/** The metrics that the trader has beside those of every member. */
export const TRADER_FAMILIES = {
  fleet_trader_decisions_total: {
    help: 'attempted decisions, by outcome; the action is `none` if the payload has no readable action',
    labels: { action: [...ControlAction.options, 'none'], status: ControlStatus.options },
  },
  fleet_trader_rejections_total: {
    help: 'reasons for rejected or failed attempts; an attempt may have several',
    labels: { code: ControlCode.options },
  },
  fleet_trader_audit_records_total: { help: 'records in the audit since its file was created', read: true },
  fleet_trader_audit_ok: {
    help: '0 while the audit is broken and not [accepted](trader.md#accept-a-broken-audit), else 1. The trader verifies the chain and the tables, and compares its head with the published one',
  },
  fleet_trader_price: ofConcern('the last close, in the quote asset'),
  fleet_trader_position: ofConcern('the position, in units of the base asset'),
  fleet_trader_equity: ofConcern('cash plus the position at the last close, in the quote asset'),
  fleet_trader_orders_total: {
    help: 'orders `placed`, `filled`, `canceled`, `rejected`; `strategy` is its name',
    labels: {
      strategy: { from: 'strategies', and: ['other'] },
      kind: ['placed', 'filled', 'canceled', 'rejected'],
    },
  },
  fleet_trader_risk_mode: {
    help: '1 for the current risk mode, 0 for the others',
    labels: { concern: CONCERN, mode: RiskMode.options },
    read: true,
  },
  fleet_trader_run_state: {
    help: '1 for the current state (`running` or `paused`), 0 for the other',
    labels: { concern: CONCERN, state: RUN_STATES },
    read: true,
  },
  fleet_trader_breaker_trips_total: {
    help: 'decisions of [circuit breakers](trader.md#circuit-breakers)',
    labels: { concern: CONCERN, breaker: { from: 'breakers' } },
  },
  fleet_trader_breaker_tripped: ofConcern('1 while the decision in force is that of a circuit breaker'),
  fleet_trader_return: ofConcern(
    'return since the account was opened, as all of the [performance](trader.md#performance); 0.1 is 10 %',
  ),
  fleet_trader_drawdown: ofConcern('the part of the highest equity that is missing'),
  fleet_trader_max_drawdown: ofConcern('the largest drawdown'),
  fleet_trader_sharpe: ofConcern('Sharpe ratio, annualized'),
  fleet_trader_sortino: ofConcern('Sortino ratio, annualized'),
  fleet_trader_win_rate: ofConcern('the part of the sales with a net profit'),
  fleet_trader_profit_factor: ofConcern('net profits of sales divided by net losses'),
  fleet_trader_exposure: ofConcern('mean part of the equity in position'),
  fleet_trader_realized_profit: ofConcern('realized profit without fees, in the quote asset'),
  fleet_trader_fees: ofConcern('fees of all fills, in the quote asset'),
  fleet_trader_strategy_profit: ofStrategy(
    'change of the equity while the strategy was active, in the quote asset; `strategy` is its name',
  ),
  fleet_trader_strategy_return: ofStrategy('return while the strategy was active'),
  fleet_trader_strategy_max_drawdown: ofStrategy('largest drawdown while the strategy was active'),
  fleet_trader_execution_degraded: ofConcern('1 while execution is degraded'),
} as const satisfies Families;
