import type { Decimal } from 'decimal.js';
import { ZERO } from '../terms/money.ts';

export interface AccountFill {
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
 * The net profit of sales. Fees of buys are carried by the position and shared out over its units, as its cost is; an
 * opening position carries none. A sale's net profit is what it realizes, less its own fee and the entry fees of the units
 * sold.
 */
export interface NetProfit {
  /** Must be called for each fill, in order. The net profit of a sale; undefined for a buy. */
  fill(fill: AccountFill): Decimal | undefined;
  /** Fees that the present position carries. */
  carried(): Decimal;
}

/** `carried` is that of an earlier one, which this one continues. */
export function createNetProfit(carried: Decimal = ZERO): NetProfit {
  let entryFees = carried;
  return {
    fill: ({ side, quantity, fee, held, realized }) => {
      if (side === 'buy') {
        entryFees = entryFees.plus(fee);
        return undefined;
      }
      const share = quantity.eq(held)
        ? entryFees
        : entryFees.times(quantity).div(held).toDecimalPlaces(DIGITS);
      entryFees = entryFees.minus(share);
      return realized.minus(fee).minus(share);
    },
    carried: () => entryFees,
  };
}
