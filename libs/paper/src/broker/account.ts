import type { Decimal } from 'decimal.js';
import { money, smaller, text, ZERO } from '../market/money.ts';

/**
 * A spot account on paper. To the last digit, at any price: cash + basis = what it began with + realized − fees, so that
 * equity = beginning + realized + unrealized − fees.
 */
export interface Account {
  /** Of the quote asset, reserved or not; never below 0. */
  readonly cash: Decimal;
  /** Of the base asset; never below 0. */
  readonly position: Decimal;
  /** What the position cost, without fees. */
  readonly basis: Decimal;
  /** Without fees. */
  readonly realized: Decimal;
  readonly fees: Decimal;
}

export interface Fill {
  readonly quantity: Decimal;
  readonly price: Decimal;
  readonly fee: Decimal;
}

/** What is held at the start is taken to have cost `price`. */
export const openAccount = (cash: Decimal, position: Decimal, price: Decimal): Account => ({
  cash,
  position,
  basis: position.times(price),
  realized: ZERO,
  fees: ZERO,
});

/** Throws where the cash does not cover it. */
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

/** The digits of the cost of a part of the position: a quotient, and rounded up, so that no gain comes of rounding. */
const BASIS_DIGITS = 18;
const ROUND_UP = 0;

/** Throws where there is less to sell. */
export function sold(account: Account, { quantity, price, fee }: Fill): Account {
  const position = account.position.minus(quantity);
  if (position.lt(ZERO)) throw new Error(`a sale of ${text(quantity)} exceeds the position`);
  const amount = quantity.times(price);
  const share = account.basis.times(quantity).div(account.position);
  // Of all that is held, rounded or not, it is the whole basis.
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
