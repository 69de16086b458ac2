import type { Decimal } from 'decimal.js';
import { money, smaller, text, ZERO } from '../terms/money.ts';

/**
 * A paper spot account. Exactly: cash + basis = opening balance + realized − fees. Hence, at any price,
 * equity = opening balance + realized + unrealized − fees.
 */
export interface Account {
  /** In the quote asset, including reserved cash; never below 0. */
  readonly cash: Decimal;
  /** In the base asset; never below 0. */
  readonly position: Decimal;
  /** Cost of the position, without fees. */
  readonly basis: Decimal;
  /** Realized profit or loss, without fees. */
  readonly realized: Decimal;
  readonly fees: Decimal;
}

export interface Fill {
  readonly quantity: Decimal;
  readonly price: Decimal;
  readonly fee: Decimal;
}

/** The opening position counts as bought at `price`. */
export const openAccount = (cash: Decimal, position: Decimal, price: Decimal): Account => ({
  cash,
  position,
  basis: position.times(price),
  realized: ZERO,
  fees: ZERO,
});

/** Throws if the cash does not cover the fill. */
export function bought(account: Account, { quantity, price, fee }: Fill): Account {
  const amount = quantity.times(price);
  const cash = account.cash.minus(amount).minus(fee);
  if (cash.lt(ZERO)) throw new Error(`a buy of ${text(quantity)} at ${text(price)} overdraws the cash`);
  return {
    ...account,
    cash,
    position: account.position.plus(quantity),
    basis: account.basis.plus(amount),
    fees: account.fees.plus(fee),
  };
}

/** Digits of the cost of a part of the position. It is rounded up, so that rounding never yields a gain. */
const BASIS_DIGITS = 18;
const ROUND_UP = 0;

/** Throws if the position is smaller than the fill. */
export function sold(account: Account, { quantity, price, fee }: Fill): Account {
  const position = account.position.minus(quantity);
  if (position.lt(ZERO)) throw new Error(`a sale of ${text(quantity)} exceeds the position`);
  const amount = quantity.times(price);
  const share = account.basis.times(quantity).div(account.position);
  // A sale of the whole position costs exactly the whole basis.
  const cost = smaller(account.basis, share.toDecimalPlaces(BASIS_DIGITS, ROUND_UP));
  return {
    cash: account.cash.plus(amount).minus(fee),
    position,
    basis: account.basis.minus(cost),
    realized: account.realized.plus(amount).minus(cost),
    fees: account.fees.plus(fee),
  };
}

export const averagePrice = ({ basis, position }: Account): Decimal | undefined =>
  position.isZero() ? undefined : money(basis.div(position).toDecimalPlaces(BASIS_DIGITS));
