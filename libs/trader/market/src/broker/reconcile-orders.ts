import type { Desired } from '../terms/engine-port.ts';
import type { Market } from '../terms/market.ts';
import { text } from '../terms/money.ts';
import { FLATTEN } from './flatten.ts';
import type { Order } from './order.ts';
import { halfOf } from './risk-gate.ts';
import { type EngineState, endOrder, type OrderListener } from './state.ts';

/** Cancels the open orders that `desired` does not allow, and halves entries under risk mode `cautious`. Idempotent. */
export function reconcileOrders(
  before: EngineState,
  desired: Desired,
  market: Market,
  onOrder: OrderListener,
): EngineState {
  let state = before;
  for (const order of before.open) {
    const reason = cancelReason(order, desired, market);
    const endedAt = before.bars.at(-1)?.at ?? order.placedAt;
    if (reason !== undefined) state = endOrder(state, order, { state: 'canceled', endedAt, reason }, onOrder);
    else if (desired.riskMode === 'cautious' && order.purpose === 'entry' && !order.isHalved)
      state = halveOrder(state, order, { endedAt, market }, onOrder);
  }
  return state;
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

function halveOrder(
  state: EngineState,
  order: Order,
  { endedAt, market }: { endedAt: number; market: Market },
  onOrder: OrderListener,
): EngineState {
  const quantity = halfOf(order.quantity, market);
  const least = market.limits.minOrder;
  if (quantity.lt(least)) {
    const reason = `risk mode cautious reduces it to ${text(quantity)}, below the limit min_order ${text(least)}`;
    return endOrder(state, order, { state: 'canceled', endedAt, reason }, onOrder);
  }
  const reserved = order.reserved.div(order.quantity).times(quantity);
  const why = 'risk mode cautious halves entries';
  const reason = order.reason === undefined ? `reduced: ${why}` : `${order.reason}, ${why}`;
  const smaller: Order = { ...order, quantity, reserved, isHalved: true, reason };
  onOrder(smaller, 'reduced');
  return { ...state, open: state.open.map((each) => (each.id === order.id ? smaller : each)) };
}
