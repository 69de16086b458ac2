import type { Decimal } from 'decimal.js';
import { ATR, EMA } from 'trading-signals';
import { money } from '../market/money.ts';
import type { Bar } from '../market/strategy.ts';

const DIGITS = 10;
/** Lengths of history that an average needs: a value older than this has a weight below one percent. */
const MEMORY = 5;

/** The prices of a bar as floats. */
interface Floats {
  readonly high: number;
  readonly low: number;
  readonly close: number;
}

/** A bar is read at many closes, and converting a decimal is slow. */
const floats = new WeakMap<Bar, Floats>();

function floatsOf(bar: Bar): Floats {
  const known = floats.get(bar);
  if (known !== undefined) return known;
  const made = { high: bar.high.toNumber(), low: bar.low.toNumber(), close: bar.close.toNumber() };
  floats.set(bar, made);
  return made;
}

/** Converts an indicator's float. Ten digits are enough for a signal. */
const decimal = (signal: number): Decimal => money(signal.toPrecision(DIGITS));

/** Fast minus slow average of the closes for each of the last bars, the newest last. Only the signs are meaningful. */
export function averageCrossing(
  bars: readonly Bar[],
  options: { readonly fastBars: number; readonly slowBars: number; readonly last: number },
): number[] {
  const fast = new EMA(options.fastBars);
  const slow = new EMA(options.slowBars);
  const seen = bars.slice(-(MEMORY * options.slowBars + options.last));
  const leads = seen.map((bar) => {
    const price = floatsOf(bar).close;
    return fast.update(price, false) - slow.update(price, false);
  });
  return leads.slice(-options.last);
}

/** The average true range; undefined while there are too few bars, and 0 for constant prices. */
export function averageTrueRange(bars: readonly Bar[], ofBars: number): Decimal | undefined {
  const range = new ATR(ofBars);
  for (const bar of bars.slice(-MEMORY * ofBars)) range.add(floatsOf(bar));
  const value = range.getResult();
  return value === null ? undefined : decimal(value);
}

export function meanClose(bars: readonly Bar[], ofBars: number): number {
  const closes = bars.slice(-ofBars).map((bar) => floatsOf(bar).close);
  return closes.reduce((sum, close) => sum + close, 0) / closes.length;
}
