import type { RiskMode } from '@hermes-fleet/protocol/control';
import type { Ids } from '@hermes-fleet/protocol/ports';
import type { Market } from '../terms/market.ts';
import { floorTo, ZERO } from '../terms/money.ts';
import type { Bar, Intent, StrategyView, TradingStrategy } from '../terms/strategy.ts';
import { averagePrice } from './account.ts';
import { isFlattening, saleOfAll } from './flatten.ts';
import { readIntents } from './intents.ts';
import { type Order, openOrderOf } from './order.ts';
import { judgeOrder, type OrderIntent, onQuantityStep } from './risk-gate.ts';
import {
  cancelOrders,
  countReject,
  type EngineState,
  endOrder,
  freeCash,
  type OrderListener,
} from './state.ts';

interface StrategyContext {
  readonly market: Market;
  readonly ids: Ids;
  readonly onOrder: OrderListener;
}

/**
 * Asks the configured strategy and applies those of its intents that the risk gate allows. Throws what the strategy throws. A
 * position that risk mode `halted` sells is sold instead.
 */
export function askStrategy(
  before: EngineState,
  trading: TradingStrategy,
  context: StrategyContext,
): EngineState {
  const { strategyId } = before.configured;
  const bar = before.bars.at(-1);
  if (strategyId === null || bar === undefined) return before;
  if (isFlattening(before, context.market)) {
    const sale = saleOfAll(before, context.market);
    const inContext = { ...context, strategyId, bar, riskMode: 'reduce_only' as const };
    return sale === undefined ? before : placeOrder(before, sale, inContext);
  }
  if (before.bars.length < trading.warmupBars) return before;
  const view = viewFor(before, { ...context, strategyId, bar });
  return readIntents(trading.onBar(view), view.openOrders).reduce<EngineState>(
    (state, intent) => applyIntent(state, intent, { ...context, strategyId, bar }),
    before,
  );
}

function viewFor(state: EngineState, { strategyId, bar: { close }, market }: IntentContext): StrategyView {
  const { account, bars, open } = state;
  return {
    bars,
    position: onQuantityStep(account.position, market),
    // Most strategies do not read it at most bars, and a quotient of 80 digits is slow.
    get averagePrice() {
      return averagePrice(account);
    },
    freeCash: freeCash(state),
    equity: account.cash.plus(account.position.times(close)),
    openOrders: open.filter((order) => order.strategyId === strategyId).map(openOrderOf),
  };
}

interface IntentContext extends StrategyContext {
  readonly strategyId: string;
  readonly bar: Bar;
  /** Instead of the configured one. */
  readonly riskMode?: RiskMode;
}

function applyIntent(state: EngineState, intent: Intent, context: IntentContext): EngineState {
  if (intent.type === 'order') return placeOrder(state, intent, context);
  // The replacement of an exit that halted keeps would be refused, so the exit would be lost.
  const mayCancel = ({ id, purpose }: Order): boolean =>
    id === intent.orderId && !(state.configured.riskMode === 'halted' && purpose === 'exit');
  const reasonOf = (order: Order) => (mayCancel(order) ? 'the strategy canceled it' : undefined);
  return cancelOrders(state, reasonOf, context.onOrder);
}

function placeOrder(
  state: EngineState,
  intent: OrderIntent,
  { market, ids, onOrder, strategyId, bar, riskMode = state.configured.riskMode }: IntentContext,
): EngineState {
  const { type: _, ...wanted } = intent;
  const { position } = state.account;
  const facts = {
    ...state.configured,
    riskMode,
    market,
    position,
    freeCash: freeCash(state),
    open: state.open,
  };
  const ruling = judgeOrder(intent, { ...facts, close: bar.close });
  const { rev } = state.configured;
  const common = {
    ...wanted,
    id: ids.uuid(),
    strategyId,
    placedAt: bar.at,
    ...(rev !== undefined && { rev }),
  };
  if ('refused' in ruling) {
    if (ruling.isByPolicy && isAlreadyRecorded(state, intent, strategyId, ruling.refused)) return state;
    const quantity = floorTo(intent.quantity, market.steps.quantity);
    const order: Order = { ...common, quantity, state: 'open', reserved: ZERO, isHalved: false };
    const ending = { state: 'rejected' as const, endedAt: bar.at, reason: ruling.refused };
    const after = endOrder(state, order, ending, onOrder);
    return ruling.isByPolicy ? after : countReject(after);
  }
  const { scaled, ...passed } = ruling;
  const reason = scaled === undefined ? {} : { reason: scaled };
  const order: Order = { ...common, ...passed, ...reason, state: 'open' };
  onOrder(order, 'placed');
  return { ...state, open: [...state.open, order] };
}

/** A repeated refusal is recorded once, so that an intent repeated at every bar does not crowd out the recent orders. */
const isAlreadyRecorded = (
  { recent }: EngineState,
  intent: OrderIntent,
  strategyId: string,
  reason: string,
): boolean =>
  recent.some(
    (order) =>
      order.state === 'rejected' &&
      order.reason === reason &&
      order.strategyId === strategyId &&
      order.side === intent.side &&
      order.tag === intent.tag,
  );
