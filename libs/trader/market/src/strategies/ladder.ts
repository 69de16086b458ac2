import type { Decimal } from 'decimal.js';
import { money } from '../terms/money.ts';
import type { Bar } from '../terms/strategy.ts';
import { createFloats, meanClose } from './signals.ts';

/** Numbered price levels at a constant ratio. A level's price depends on the parameters alone. */
export interface Ladder {
  price(level: number): Decimal;
  /** The highest level at or below a price, to the precision of a float. */
  below(price: Decimal): number;
  /** The first level below the center. */
  top(bars: readonly Bar[]): number;
}

export interface LadderOptions {
  /** Default: the mean of the last `centre_bars` closes, rounded to the nearest level. */
  readonly centre?: string | undefined;
  readonly centre_bars: number;
  readonly spacing_bps: number;
}

const DIGITS = 12;
/** Cached prices: computing a power of a decimal is slow. */
const MAX_KNOWN = 1_000;

export function createLadder({ centre, centre_bars, spacing_bps }: LadderOptions): Ladder {
  const anchor = money(centre ?? '1');
  const ratio = money(String(spacing_bps)).div('10000').plus('1');
  const step = Math.log1p(spacing_bps / 10_000);
  const known = new Map<number, Decimal>();
  const floats = createFloats(centre_bars);

  function price(level: number): Decimal {
    const before = known.get(level);
    if (before !== undefined) return before;
    if (known.size >= MAX_KNOWN) known.clear();
    const worked = money(anchor.times(ratio.pow(level)).toSignificantDigits(DIGITS));
    known.set(level, worked);
    return worked;
  }

  return {
    price,
    below: (value) => Math.floor(Math.log(value.div(anchor).toNumber()) / step),
    top: (bars) =>
      (centre === undefined ? Math.round(Math.log(meanClose(floats(bars), centre_bars)) / step) : 0) - 1,
  };
}
