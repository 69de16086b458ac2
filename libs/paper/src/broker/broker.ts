import type { Decimal } from 'decimal.js';
import type { Market } from '../market/market.ts';
import { ceilTo, floorTo, fraction, greater, money, smaller } from '../market/money.ts';
import type { Bar, OpenOrder } from '../market/strategy.ts';

/** A price that a bar gives an order. */
export interface Execution {
  readonly price: Decimal;
  /** The price that slippage is measured from; absent where a resting limit was met. */
  readonly reference?: Decimal;
}

const ONE = money('1');

/**
 * What an order fills at that is there when the bar opens. A market order: the open, with slippage against it. A limit
 * that the open has already passed: the same, yet never beyond its limit. Undefined: not at the open.
 */
export function atOpen(order: OpenOrder, { open }: Bar, market: Market): Execution | undefined {
  const { side, limitPrice } = order;
  const price = worse(side, open, market);
  if (limitPrice === undefined) return { price, reference: open };
  if (side === 'buy')
    return open.lt(limitPrice) ? { price: smaller(price, limitPrice), reference: open } : undefined;
  return open.gt(limitPrice) ? { price: greater(price, limitPrice), reference: open } : undefined;
}

/** A resting limit fills at its price when the bar trades through it: to touch it is not enough, others stood before it. */
export function withinBar({ side, limitPrice }: OpenOrder, { low, high }: Bar): Execution | undefined {
  if (limitPrice === undefined) return undefined;
  const isCrossed = side === 'buy' ? low.lt(limitPrice) : high.gt(limitPrice);
  return isCrossed ? { price: limitPrice } : undefined;
}

/** A price with slippage, rounded to the price's step, both against the order. Of a sale it may be 0. */
export function worse(side: OpenOrder['side'], price: Decimal, { slippageBps, steps }: Market): Decimal {
  const slip = fraction(slippageBps);
  return side === 'buy'
    ? ceilTo(price.times(ONE.plus(slip)), steps.price)
    : floorTo(price.times(ONE.minus(slip)), steps.price);
}

/** The fee of a fill, to the last digit. */
export const feeOf = (quantity: Decimal, price: Decimal, { feesBps }: Market): Decimal =>
  quantity.times(price).times(fraction(feesBps));

/** What a buy costs with its fee. */
export const costOf = (quantity: Decimal, price: Decimal, market: Market): Decimal =>
  quantity.times(price).plus(feeOf(quantity, price, market));
