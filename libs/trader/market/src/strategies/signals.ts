import type { Decimal } from 'decimal.js';
import { ATR, EMA } from 'trading-signals';
import { money } from '../terms/money.ts';
import type { Bar } from '../terms/strategy.ts';

const DIGITS = 10;
/** Lengths of history that an average needs: a value older than this has a weight below one percent. */
export const MEMORY = 5;

/** The prices of a bar as floats. */
export interface Floats {
  readonly high: number;
  readonly low: number;
  readonly close: number;
}

const floatsOf = ({ high, low, close }: Bar): Floats => ({
  high: high.toNumber(),
  low: low.toNumber(),
  close: close.toNumber(),
});

/**
 * Converts the last `most` bars to floats. Remembers them, because converting a decimal is slow and all but the newest bar
 * were there at the bar before. This is no state of a strategy: without it, the result is the same.
 */
export function createFloats(most: number): (bars: readonly Bar[]) => readonly Floats[] {
  let newest: Bar | undefined;
  let known: readonly Floats[] = [];
  return (bars) => {
    const older = Math.min(most, bars.length) - 1;
    const last = bars.at(-1);
    if (last === undefined) return [];
    const isNext = newest !== undefined && bars.at(-2) === newest && known.length >= older;
    const before = isNext ? known.slice(known.length - older) : bars.slice(-most, -1).map(floatsOf);
    known = [...before, floatsOf(last)];
    newest = last;
    return known;
  };
}

/** Converts an indicator's float. Ten digits are enough for a signal. */
const decimal = (signal: number): Decimal => money(signal.toPrecision(DIGITS));

/** Fast minus slow average of the closes for each of the last bars, the newest last. Only the signs are meaningful. */
export function averageCrossing(
  bars: readonly Floats[],
  options: { readonly fastBars: number; readonly slowBars: number; readonly last: number },
): number[] {
  const fast = new EMA(options.fastBars);
  const slow = new EMA(options.slowBars);
  const seen = bars.slice(-(MEMORY * options.slowBars + options.last));
  const leads = seen.map(({ close }) => fast.update(close, false) - slow.update(close, false));
  return leads.slice(-options.last);
}

/** The average true range; undefined while there are too few bars, and 0 for constant prices. */
export function averageTrueRange(bars: readonly Floats[], ofBars: number): Decimal | undefined {
  const range = new ATR(ofBars);
  for (const bar of bars.slice(-MEMORY * ofBars)) range.add(bar);
  const value = range.getResult();
  return value === null ? undefined : decimal(value);
}

export function meanClose(bars: readonly Floats[], ofBars: number): number {
  const closes = bars.slice(-ofBars).map(({ close }) => close);
  return closes.reduce((sum, close) => sum + close, 0) / closes.length;
}
