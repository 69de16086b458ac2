import { Decimal } from 'decimal.js';

/**
 * The decimals that the engine counts in. 80 digits, so that no product or sum of what MarketSchema lets in is ever
 * rounded: only quotients are. A clone of its own, so that nobody's settings reach anybody else's.
 */
const Money = Decimal.clone({ precision: 80, rounding: Decimal.ROUND_HALF_EVEN });

/** A decimal of the engine's precision, exactly the one given. Not for floats: pass decimal strings, or other decimals. */
export const money = (value: string | Decimal): Decimal => new Money(value);

export const ZERO = money('0');

const ONE_BPS = money('0.0001');

/** `bps` basis points as a fraction: 10 is 0.001. */
export const fraction = (bps: Decimal): Decimal => bps.times(ONE_BPS);

/** The greatest multiple of `step` that is not above a `value` ≥ 0. */
export const floorTo = (value: Decimal, step: Decimal): Decimal => value.divToInt(step).times(step);

/** The least multiple of `step` that is not below a `value` ≥ 0. */
export function ceilTo(value: Decimal, step: Decimal): Decimal {
  const floor = floorTo(value, step);
  return floor.eq(value) ? floor : floor.plus(step);
}

export const smaller = (a: Decimal, b: Decimal): Decimal => (a.lt(b) ? a : b);
export const greater = (a: Decimal, b: Decimal): Decimal => (a.gt(b) ? a : b);
export const sum = (values: Iterable<Decimal>): Decimal => {
  let total = ZERO;
  for (const value of values) total = total.plus(value);
  return total;
};

/** All its digits, without an exponent. */
export const text = (value: Decimal): string => value.toFixed();
