import type { Decimal } from 'decimal.js';
import { ZERO } from '../terms/money.ts';

interface AccountFill {
  readonly side: 'buy' | 'sell';
  readonly quantity: Decimal;
  readonly fee: Decimal;
  /** The position before the fill. */
  readonly held: Decimal;
  /** Change of the account's realized profit, without fees. */
  readonly realized: Decimal;
}

/** Digits of a share of fees. */
const DIGITS = 18;

/**
 * The net profit of sales; to be called for each fill, in order. Fees of buys are carried by the position and shared out over
 * its units, as its cost is; an opening position carries none. A sale's net profit is what it realizes, less its own fee and
 * the entry fees of the units sold; it is undefined for a buy.
 */
export function createNetProfit(): (fill: AccountFill) => Decimal | undefined {
  let entryFees = ZERO;
  return ({ side, quantity, fee, held, realized }) => {
    if (side === 'buy') {
      entryFees = entryFees.plus(fee);
      return undefined;
    }
    const share = quantity.eq(held) ? entryFees : entryFees.times(quantity).div(held).toDecimalPlaces(DIGITS);
    entryFees = entryFees.minus(share);
    return realized.minus(fee).minus(share);
  };
}
