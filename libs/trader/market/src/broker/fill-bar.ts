import type { Market } from '../terms/market.ts';
import { text, ZERO } from '../terms/money.ts';
import type { Bar } from '../terms/strategy.ts';
import { bought, openAccount, sold } from './account.ts';
import { atOpen, costOf, type Execution, feeOf, withinBar } from './broker.ts';
import { recordAccount } from './journal.ts';
import type { Order } from './order.ts';
import {
  countReject,
  type EngineState,
  endOrder,
  freeCash,
  HISTORY_BARS,
  type OrderListener,
  REJECT_WINDOW_BARS,
} from './state.ts';

/** Fills open orders by a bar: first those that fill at its open, then those that it trades through, oldest order first. */
export function fillBar(before: EngineState, bar: Bar, market: Market, onOrder: OrderListener): EngineState {
  let state = withBar(before, bar);
  for (const meet of [atOpen, withinBar]) {
    for (const order of state.open) {
      const execution = meet(order, bar, market);
      if (execution !== undefined) state = fillOrder(state, order, { ...execution, bar, market }, onOrder);
    }
  }
  return state;
}

function withBar(state: EngineState, bar: Bar): EngineState {
  const { counts } = state;
  return {
    ...(counts.bars === 0 ? opened(state, bar) : state),
    bars: [...state.bars, bar].slice(-HISTORY_BARS),
    counts: { ...counts, bars: counts.bars + 1 },
    rejectsOfBars: [...state.rejectsOfBars, 0].slice(-REJECT_WINDOW_BARS),
  };
}

function opened(state: EngineState, { open, at }: Bar): EngineState {
  const { quote, base } = state.opening;
  return recordAccount({ ...state, account: openAccount(quote, base, open) }, 'opened', at);
}

interface FillContext extends Execution {
  readonly bar: Bar;
  readonly market: Market;
}

function fillOrder(
  state: EngineState,
  order: Order,
  meeting: FillContext,
  onOrder: OrderListener,
): EngineState {
  const { price, reference, bar, market } = meeting;
  const { quantity, side } = order;
  const endedAt = bar.at;
  const reason = rejectReason(state, order, meeting);
  if (reason !== undefined)
    return countReject(endOrder(state, order, { state: 'rejected', endedAt, reason }, onOrder));
  const fee = feeOf(quantity, price, market);
  const account = (side === 'buy' ? bought : sold)(state.account, { quantity, price, fee });
  const profit = side === 'sell' ? { realized: account.realized.minus(state.account.realized) } : {};
  const filled = { state: 'filled' as const, endedAt, fillPrice: price, fee, ...profit };
  const after = endOrder(state, order, filled, onOrder);
  if (reference === undefined) return { ...after, account };
  const slippage = price.minus(reference).abs().times(quantity);
  const { counts } = after;
  return {
    ...after,
    account,
    counts: {
      ...counts,
      slipped: counts.slipped.plus(reference.times(quantity)),
      slippage: counts.slippage.plus(slippage),
    },
  };
}

/** Why an order that met its price cannot be filled: the open may be far from the price that cash was reserved for. */
function rejectReason(state: EngineState, order: Order, { price, market }: FillContext): string | undefined {
  if (!price.gt(ZERO)) return `the price is below one step of ${text(market.steps.price)}`;
  if (order.side === 'sell') return undefined;
  const cost = costOf(order.quantity, price, market);
  const free = freeCash(state).plus(order.reserved);
  return cost.gt(free)
    ? `balance: at ${text(price)} the order costs ${text(cost)} with its fee, and ${text(free)} is free`
    : undefined;
}
