import type { Decimal } from 'decimal.js';
import type { Market } from '../terms/market.ts';
import { ceilTo, floorTo, fraction, greater, money, smaller } from '../terms/money.ts';
import type { Bar, OpenOrder } from '../terms/strategy.ts';

/** The price at which a bar fills an order. */
export interface Execution {
  readonly price: Decimal;
  /** The price that slippage is measured from; absent for a resting limit order. */
  readonly reference?: Decimal;
}

const ONE = money('1');

/**
 * The execution of an order at the open of a bar; undefined if it does not fill there. A market order fills at the open
 * with slippage. So does a limit order that the open has already passed, but never beyond its limit.
 */
export function atOpen(order: OpenOrder, { open }: Bar, market: Market): Execution | undefined {
  const { side, limitPrice } = order;
  if (limitPrice === undefined) return { price: worse(side, open, market), reference: open };
  const isPassed = side === 'buy' ? open.lt(limitPrice) : open.gt(limitPrice);
  if (!isPassed) return undefined;
  const price = (side === 'buy' ? smaller : greater)(worse(side, open, market), limitPrice);
  return { price, reference: open };
}

/** A resting limit order fills at its limit when the bar trades through it. A touch is not enough: other orders are ahead. */
export function withinBar({ side, limitPrice }: OpenOrder, { low, high }: Bar): Execution | undefined {
  if (limitPrice === undefined) return undefined;
  const isCrossed = side === 'buy' ? low.lt(limitPrice) : high.gt(limitPrice);
  return isCrossed ? { price: limitPrice } : undefined;
}

/** Applies slippage and rounds to the price step, both against the order. The result may be 0 for a sale. */
export function worse(side: OpenOrder['side'], price: Decimal, { slippageBps, steps }: Market): Decimal {
  const slip = fraction(slippageBps);
  return side === 'buy'
    ? ceilTo(price.times(ONE.plus(slip)), steps.price)
    : floorTo(price.times(ONE.minus(slip)), steps.price);
}

/** The exact fee of a fill. */
export const feeOf = (quantity: Decimal, price: Decimal, { feesBps }: Market): Decimal =>
  quantity.times(price).times(fraction(feesBps));

/** The cost of a buy including its fee. */
export const costOf = (quantity: Decimal, price: Decimal, market: Market): Decimal =>
  quantity.times(price).plus(feeOf(quantity, price, market));
