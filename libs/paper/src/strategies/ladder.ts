import type { Decimal } from 'decimal.js';
import { money } from '../market/money.ts';
import type { Bar } from '../market/strategy.ts';
import { meanClose } from './signals.ts';

/** Prices at a constant ratio, numbered; each belongs to the same number for as long as the parameters stay. */
export interface Ladder {
  price(level: number): Decimal;
  /** The highest level that is not above a price, to the precision of a float. */
  below(price: Decimal): number;
  /** The first level below the centre. */
  top(bars: readonly Bar[]): number;
}

export interface LadderOptions {
  /** Absent: the mean of the last `centre_bars` closes, on the nearest level, so that it moves by whole levels. */
  readonly centre?: string | undefined;
  readonly centre_bars: number;
  readonly spacing_bps: number;
}

const DIGITS = 12;
/** Prices are worked out once: a power of a decimal takes its time. */
const MAX_KNOWN = 1_000;

export function createLadder({ centre, centre_bars, spacing_bps }: LadderOptions): Ladder {
  const anchor = money(centre ?? '1');
  const ratio = money(String(spacing_bps)).div('10000').plus('1');
  const step = Math.log1p(spacing_bps / 10_000);
  const known = new Map<number, Decimal>();

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
    top: (bars) => (centre === undefined ? Math.round(Math.log(meanClose(bars, centre_bars)) / step) : 0) - 1,
  };
}
