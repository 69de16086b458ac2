import { Decimal } from 'decimal.js';

/**
 * The engine's decimal type. With 80 digits, no product or sum of values that `MarketSchema` allows is rounded; only
 * quotients are. A clone keeps these settings apart from those of other users of decimal.js.
 */
const Money = Decimal.clone({ precision: 80, rounding: Decimal.ROUND_HALF_EVEN });

/** Converts a decimal string or another decimal exactly. Floats are not accepted. */
export const money = (value: string | Decimal): Decimal =>
  typeof value !== 'string' && value.constructor === Money ? value : new Money(value);

export const ZERO = money('0');

const ONE_BPS = money('0.0001');

/** `bps` basis points as a fraction: 10 is 0.001. */
export const fraction = (bps: Decimal): Decimal => bps.times(ONE_BPS);

/** Rounds a `value` ≥ 0 down to a multiple of `step`. */
export const floorTo = (value: Decimal, step: Decimal): Decimal => value.divToInt(step).times(step);

/** Rounds a `value` ≥ 0 up to a multiple of `step`. */
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

/** All digits, without an exponent. */
export const text = (value: Decimal): string => value.toFixed();
