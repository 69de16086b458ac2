import type { Concern } from '../terms/concern.ts';
import type { Market } from '../terms/market.ts';
import { text } from '../terms/money.ts';
import type { TradingStrategy } from '../terms/strategy.ts';
import { FLATTEN } from './flatten.ts';
import type { Order } from './order.ts';
import { halfOf } from './risk-gate.ts';
import { cancelOrders, type EngineState, type OrderListener } from './state.ts';

/** The state that an engine is configured to. */
export interface Desired extends Pick<Concern, 'runState' | 'riskMode'> {
  /** The revision of the concern. */
  readonly rev?: number | undefined;
  /** Undefined: no strategy is active, and the position is held. */
  readonly strategy: { readonly id: string; readonly trading: TradingStrategy } | undefined;
}

/** Cancels the open orders that `desired` does not allow, and halves entries under risk mode `cautious`. Idempotent. */
export function reconcileOrders(
  before: EngineState,
  desired: Desired,
  market: Market,
  onOrder: OrderListener,
): EngineState {
  const left = cancelOrders(before, (order) => cancelReason(order, desired, market), onOrder);
  if (desired.riskMode !== 'cautious') return left;
  return left.open
    .filter(({ purpose, isHalved }) => purpose === 'entry' && !isHalved)
    .reduce((state, order) => halveOrder(state, order, market, onOrder), left);
}

function cancelReason(
  { strategyId, purpose, tag }: Order,
  { strategy, riskMode, runState }: Desired,
  { halted }: Market,
): string | undefined {
  if (strategy === undefined) return 'no strategy is active';
  if (strategyId !== strategy.id) return `switched to strategy ${strategy.id}`;
  const isKept = purpose === 'exit' && (halted === 'keep_protective' || tag === FLATTEN);
  if (riskMode === 'halted' && !isKept) return 'risk mode halted';
  if (purpose === 'exit') return undefined;
  if (riskMode === 'reduce_only') return 'risk mode reduce_only: no entries';
  return runState === 'paused' ? 'paused: no entries' : undefined;
}

function halveOrder(state: EngineState, order: Order, market: Market, onOrder: OrderListener): EngineState {
  const quantity = halfOf(order.quantity, market);
  const least = market.limits.minOrder;
  if (quantity.lt(least)) {
    const reason = `risk mode cautious reduces it to ${text(quantity)}, below the limit min_order ${text(least)}`;
    return cancelOrders(state, ({ id }) => (id === order.id ? reason : undefined), onOrder);
  }
  const reserved = order.reserved.div(order.quantity).times(quantity);
  const why = 'risk mode cautious halves entries';
  const reason = order.reason === undefined ? `reduced: ${why}` : `${order.reason}, ${why}`;
  const smaller: Order = { ...order, quantity, reserved, isHalved: true, reason };
  onOrder(smaller, 'reduced');
  return { ...state, open: state.open.map((each) => (each.id === order.id ? smaller : each)) };
}
