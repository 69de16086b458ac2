import type { Concern } from '@hermes-fleet/market';
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

/** How each breaker but that of the stale price compares a measure with its limit: the reason where that is exceeded. */
const EXCESSES: {
  readonly [B in Exclude<keyof ConcernLimits, 'stale_price'>]: (
    measures: Measures,
    limit: NonNullable<ConcernLimits[B]>['limit'],
  ) => string | undefined;
} = {
  daily_loss: ({ dailyLoss }, limit) =>
    dailyLoss.gt(limit) ? `the loss of the day is ${dailyLoss.toFixed()}, above ${limit}` : undefined,
  drawdown: ({ drawdown }, limit) =>
    drawdown.gt(limit) ? `the drawdown is ${drawdown.toFixed(4)}, above ${limit}` : undefined,
  strategy_loss: ({ strategyLoss: loss }, limit) =>
    loss.gt(limit) ? `the strategy has lost ${loss.toFixed()}, more than ${limit}` : undefined,
  orders_per_minute: ({ ordersPerMinute: count }, limit) =>
    count > limit ? `${count} orders were placed in a minute, more than ${limit}` : undefined,
};

/** The limits that these measures exceed, the strictest action first. The stale price is not among them. */
export function exceededBy(limits: ConcernLimits, measures: Measures): Exceeded[] {
  const excess = <B extends keyof typeof EXCESSES>(breaker: B): Exceeded[] => {
    const set = limits[breaker];
    const reason = set && EXCESSES[breaker](measures, set.limit);
    return set && reason !== undefined ? [{ breaker, action: set.action, reason }] : [];
  };
  const all = Object.keys(EXCESSES) as (keyof typeof EXCESSES)[];
  return all.flatMap(excess).sort((a, b) => SEVERITY[b.action] - SEVERITY[a.action]);
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
