import { type Concern, money } from '@hermes-fleet/market';
import type { JsonObject } from '@hermes-fleet/protocol';
import { RiskMode } from '@hermes-fleet/protocol/control';
import type { ConcernLimits } from '../config/breaker-schema.ts';
import type { Measures } from './track.ts';

export type BreakerAction = 'pause' | 'reduce_only' | 'halted';

/** A limit that is exceeded. */
export interface Exceeded {
  readonly breaker: keyof ConcernLimits;
  readonly action: BreakerAction;
  /** For the audit and the log. */
  readonly reason: string;
}

/** The limits that these measures exceed, the strictest action first. The stale price is not among them. */
export function exceededBy(limits: ConcernLimits, measures: Measures): Exceeded[] {
  const { daily_loss, drawdown, strategy_loss, orders_per_minute } = limits;
  const found: Exceeded[] = [];
  if (daily_loss && measures.dailyLoss.gt(money(daily_loss.limit))) {
    const reason = `the loss of the day is ${measures.dailyLoss.toFixed()}, above ${daily_loss.limit}`;
    found.push({ breaker: 'daily_loss', action: daily_loss.action, reason });
  }
  if (drawdown && measures.drawdown.gt(money(drawdown.limit))) {
    const reason = `the drawdown is ${measures.drawdown.toFixed(4)}, above ${drawdown.limit}`;
    found.push({ breaker: 'drawdown', action: drawdown.action, reason });
  }
  if (strategy_loss && measures.strategyLoss.gt(money(strategy_loss.limit))) {
    const reason = `the strategy has lost ${measures.strategyLoss.toFixed()}, more than ${strategy_loss.limit}`;
    found.push({ breaker: 'strategy_loss', action: strategy_loss.action, reason });
  }
  if (orders_per_minute && measures.ordersPerMinute > orders_per_minute.limit) {
    const reason = `${measures.ordersPerMinute} orders were placed in a minute, more than ${orders_per_minute.limit}`;
    found.push({ breaker: 'orders_per_minute', action: orders_per_minute.action, reason });
  }
  return found.sort((a, b) => SEVERITY[b.action] - SEVERITY[a.action]);
}

const SEVERITY: Readonly<Record<BreakerAction, number>> = { pause: 0, reduce_only: 1, halted: 2 };

/** True if the concern is as restricted as the action demands. Without an active strategy there is nothing to pause. */
export function isRestricted(
  { activeStrategyId, runState, riskMode }: Concern,
  action: BreakerAction,
): boolean {
  if (action === 'pause') return runState === 'paused' || activeStrategyId === null;
  return RiskMode.options.indexOf(riskMode) >= RiskMode.options.indexOf(action);
}

/** The payload of a breaker's decision. */
export const decisionOf = (
  { id, accountId, marketSymbol }: Concern,
  { action, reason }: Pick<Exceeded, 'action' | 'reason'>,
  decisionId: string,
): JsonObject => ({
  decision_id: decisionId,
  concern_id: id,
  account_id: accountId,
  market_symbol: marketSymbol,
  ...(action === 'pause' ? { action } : { action: 'set_risk_mode', risk_mode: action }),
  reason: reason.slice(0, 1_000),
  confidence: 1,
  override: true,
});
