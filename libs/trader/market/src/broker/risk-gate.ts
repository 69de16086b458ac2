import type { Decimal } from 'decimal.js';
import type { Concern } from '../terms/concern.ts';
import type { Market } from '../terms/market.ts';
import { ceilTo, floorTo, greater, money, sum, text, ZERO } from '../terms/money.ts';
import type { Intent, OpenOrder } from '../terms/strategy.ts';
import { costOf, worse } from './broker.ts';

export type OrderIntent = Extract<Intent, { type: 'order' }>;

export interface GateFacts extends Pick<Concern, 'runState' | 'riskMode'> {
  readonly market: Market;
  readonly position: Decimal;
  /** Quote that no order has reserved. */
  readonly freeCash: Decimal;
  readonly open: readonly OpenOrder[];
  /** The expected price of a market order. */
  readonly close: Decimal;
}

/** An allowed order, at its allowed size. */
export interface Passed {
  readonly quantity: Decimal;
  readonly limitPrice?: Decimal;
  readonly reserved: Decimal;
  readonly isHalved: boolean;
  /** Why the quantity is smaller than requested. */
  readonly scaled?: string;
}

export interface Refused {
  readonly refused: string;
  /** Refused by the risk mode, the run state or a configured limit. Such a refusal does not degrade execution. */
  readonly isByPolicy: boolean;
}

/** An upper bound of a quantity, and its reason. */
interface Bound {
  readonly max: Decimal;
  readonly why: string;
}

const quantityOf = (open: readonly OpenOrder[], side: OpenOrder['side']): Decimal =>
  sum(open.filter((each) => each.side === side).map(({ quantity }) => quantity));

/**
 * The risk check of every order. Pure. Buys are reduced to `max_order` and `max_position`; sales to the unreserved position
 * alone, because an exit that is cut goes on at the worse prices of later bars. Orders below `min_order` are refused, except a
 * sale of the whole position, which would otherwise be stuck. In a spot account buys are entries and sales are exits; any
 * other purpose is refused.
 */
export function judgeOrder(intent: OrderIntent, facts: GateFacts): Passed | Refused {
  const { side, purpose } = intent;
  const { riskMode, runState, market, open } = facts;
  const { limits } = market;
  if (riskMode === 'halted') return refusedByPolicy('risk mode halted: no orders');
  if ((side === 'buy') !== (purpose === 'entry'))
    return refused(`a ${side} cannot be an ${purpose} of a spot account: buys enter, sales exit`);
  if (side === 'buy' && runState === 'paused') return refusedByPolicy('paused: no entries');
  if (side === 'buy' && riskMode === 'reduce_only')
    return refusedByPolicy('risk mode reduce_only: no entries');
  const ofSide = open.filter((each) => each.side === side).length;
  if (ofSide >= limits.maxOpenOrders) {
    const reason = `limit max_open_orders: ${ofSide} ${side} orders are open already`;
    return side === 'buy' ? refusedByPolicy(reason) : refused(reason);
  }
  return sizeOrder(intent, facts);
}

function sizeOrder(intent: OrderIntent, facts: GateFacts): Passed | Refused {
  const { side } = intent;
  const { market, close, position, freeCash } = facts;
  const limitPrice = intent.limitPrice === undefined ? undefined : onStep(side, intent.limitPrice, market);
  const price = limitPrice ?? worse(side, close, market);
  if (!price.gt(ZERO)) return refused(`the price is below one step of ${text(market.steps.price)}`);
  const { quantity, why } = reduceQuantity(intent, facts);
  const least = market.limits.minOrder;
  const isAll = side === 'sell' && quantity.eq(onQuantityStep(position, market)) && quantity.gt(ZERO);
  if (quantity.lt(least) && !isAll) {
    const reason = `limit min_order ${text(least)}: ${text(quantity)} is left${after(why)}`;
    const isWantedTooSmall = onQuantityStep(intent.quantity, market).lt(least);
    return side === 'sell' || isWantedTooSmall ? refused(reason) : refusedByPolicy(reason);
  }
  const cost = costOf(quantity, price, market);
  if (side === 'buy' && cost.gt(freeCash))
    return refused(`balance: the order costs ${text(cost)} with its fee, and ${text(freeCash)} is free`);
  return {
    quantity,
    reserved: side === 'buy' ? cost : quantity,
    isHalved: isHalving(intent, facts),
    ...(limitPrice === undefined ? {} : { limitPrice }),
    ...(why.length === 0 ? {} : { scaled: `reduced: ${why.join(', ')}` }),
  };
}

const isHalving = ({ purpose }: OrderIntent, { riskMode }: GateFacts): boolean =>
  riskMode === 'cautious' && purpose === 'entry';

function boundsOf({ side }: OrderIntent, { market, position, open }: GateFacts): Bound[] {
  const { maxOrder, maxPosition } = market.limits;
  if (side === 'sell') {
    const free = position.minus(quantityOf(open, 'sell'));
    return [{ max: free, why: `${text(free)} held and not reserved by open sell orders` }];
  }
  const order = { max: maxOrder, why: `limit max_order ${text(maxOrder)}` };
  const room = greater(ZERO, maxPosition.minus(position).minus(quantityOf(open, 'buy')));
  return [order, { max: room, why: `limit max_position ${text(maxPosition)}` }];
}

/** Halves the quantity after the limits, so that `cautious` has an effect even where a limit reduces the order. */
const HALF = { times: money('0.5'), why: 'risk mode cautious halves entries' };

/** The quantity under risk mode `cautious`. */
export const halfOf = (quantity: Decimal, market: Market): Decimal =>
  onQuantityStep(quantity.times(HALF.times), market);

/** Rounds a quantity down to its step. No order can sell the rest of a position. */
export const onQuantityStep = (quantity: Decimal, { steps }: Market): Decimal =>
  floorTo(quantity, steps.quantity);

/** The requested quantity after bounds, rounding and halving, with the reasons for the reduction. */
function reduceQuantity(
  intent: OrderIntent,
  facts: GateFacts,
): { quantity: Decimal; why: readonly string[] } {
  const why: string[] = [];
  let { quantity } = intent;
  for (const bound of boundsOf(intent, facts)) {
    if (!bound.max.lt(quantity)) continue;
    quantity = bound.max;
    why.push(bound.why);
  }
  const whole = onQuantityStep(quantity, facts.market);
  if (!isHalving(intent, facts) || whole.isZero()) return { quantity: whole, why };
  return { quantity: halfOf(whole, facts.market), why: [...why, HALF.why] };
}

/** Rounds a limit to the price step: down for a buy, up for a sale. */
const onStep = (side: OpenOrder['side'], price: Decimal, { steps }: Market): Decimal =>
  side === 'buy' ? floorTo(price, steps.price) : ceilTo(price, steps.price);

const after = (why: readonly string[]): string => (why.length === 0 ? '' : ` after ${why.join(', ')}`);

const refused = (reason: string): Refused => ({ refused: reason, isByPolicy: false });
const refusedByPolicy = (reason: string): Refused => ({ refused: reason, isByPolicy: true });
