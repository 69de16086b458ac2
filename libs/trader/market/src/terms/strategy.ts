import type { Decimal } from 'decimal.js';

/** One bar of a market; `at` is its closing time, ms since the epoch. */
export interface Bar {
  readonly at: number;
  readonly open: Decimal;
  readonly high: Decimal;
  readonly low: Decimal;
  readonly close: Decimal;
  readonly volume: Decimal;
}

/** A source of bars. */
export interface Feed {
  /** Names the source: a feed of another name does not continue the bars of this one. */
  readonly name?: string;
  /** Clock time between two bars, ms. */
  readonly intervalMs: number;
  /** Mean time between two bars by their own times, ms, where that differs from `intervalMs`: it annualizes ratios. */
  readonly spacingMs?: number;
  /**
   * Resolves with the bar after `last` (the first bar for undefined) when it is due, or with undefined after the last
   * bar. Rejects with the signal's reason. The same `last` at the same time gives the same bar. A bar that is not after
   * `last` says that the clock was set back (`wasSetBack`).
   */
  next(last: Bar | undefined, signal: AbortSignal): Promise<Bar | undefined>;
}

/** An order that is not filled yet. */
export interface OpenOrder {
  readonly id: string;
  readonly side: 'buy' | 'sell';
  readonly kind: 'market' | 'limit';
  readonly purpose: 'entry' | 'exit';
  readonly quantity: Decimal;
  readonly limitPrice?: Decimal;
  /** Chosen by the strategy, e.g. a level of a grid. */
  readonly tag?: string;
}

/** The input of a strategy after a bar has closed. */
export interface StrategyView {
  /** Oldest first, up to the bar that just closed; at most `HISTORY_BARS`. */
  readonly bars: readonly Bar[];
  /** Sellable units of the base asset: the position rounded down to the quantity step; never below 0. */
  readonly position: Decimal;
  readonly averagePrice: Decimal | undefined;
  /** Quote asset that no order has reserved. */
  readonly freeCash: Decimal;
  /** Cash, reserved or not, and the position at the last close. */
  readonly equity: Decimal;
  /** Only the strategy's own orders. */
  readonly openOrders: readonly OpenOrder[];
}

/** A strategy's request to place an order, which the risk gate may reduce or refuse, or to cancel one. */
export type Intent =
  | {
      readonly type: 'order';
      readonly side: 'buy' | 'sell';
      readonly kind: 'market' | 'limit';
      /** `entry` opens or adds; `exit` protects or reduces, and stays open during a pause. */
      readonly purpose: 'entry' | 'exit';
      readonly quantity: Decimal;
      /** Present for `limit` orders only. */
      readonly limitPrice?: Decimal;
      readonly tag?: string;
    }
  | { readonly type: 'cancel'; readonly orderId: string };

/** A running strategy. It is stateless: its intents follow from its view alone, so a restart does not affect them. */
export interface TradingStrategy {
  /** Bars of history that the strategy needs before it is asked. */
  readonly warmupBars: number;
  onBar(view: StrategyView): readonly Intent[];
}
