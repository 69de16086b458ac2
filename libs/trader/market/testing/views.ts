import { money, ZERO } from '../src/terms/money.ts';
import type { Bar, Intent, OpenOrder, StrategyView } from '../src/terms/strategy.ts';

/** Bars with these closes, a second apart, with highs and lows slightly beyond open and close. */
export function barsOf(closes: readonly (number | string)[]): Bar[] {
  return closes.map((price, i) => {
    const close = money(String(price));
    const open = money(String(closes[i - 1] ?? price));
    const [low, high] = close.lt(open) ? [close, open] : [open, close];
    const bar = { open, close, high: high.times('1.001'), low: low.times('0.999'), volume: money('1') };
    return { at: 1_000_000 + i * 1_000, ...bar };
  });
}

export interface Situation {
  readonly closes: readonly (number | string)[];
  readonly position?: string;
  readonly averagePrice?: string;
  readonly cash?: string;
  readonly openOrders?: readonly OpenOrder[];
}

/** The view of a strategy on an account with this cash (1,000 by default) and position. */
export function viewOf({
  closes,
  position = '0',
  averagePrice,
  cash = '1000',
  openOrders = [],
}: Situation): StrategyView {
  const bars = barsOf(closes);
  const close = bars.at(-1)?.close ?? ZERO;
  return {
    bars,
    position: money(position),
    averagePrice: position === '0' ? undefined : money(averagePrice ?? close),
    freeCash: money(cash),
    equity: money(cash).plus(money(position).times(close)),
    openOrders,
  };
}

/** Formats intents as `buy limit 10 @ 0.5 (tag)` or `cancel id`. */
export const formatIntents = (intents: readonly Intent[]): string[] =>
  intents.map((intent) => {
    if (intent.type === 'cancel') return `cancel ${intent.orderId}`;
    const { side, kind, quantity, limitPrice, tag } = intent;
    const at = limitPrice === undefined ? '' : ` @ ${limitPrice.toFixed()}`;
    return `${side} ${kind} ${quantity.toFixed()}${at} (${tag})`;
  });
