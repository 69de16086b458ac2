import type { Decimal } from 'decimal.js';

/** One bar of a market; `at` is when it closed, ms since the epoch. */
export interface Bar {
  readonly at: number;
  readonly open: Decimal;
  readonly high: Decimal;
  readonly low: Decimal;
  readonly close: Decimal;
  readonly volume: Decimal;
}

/** Where bars come from; a live one can be added (design 4, Runtime). */
export interface Feed {
  /** How far apart its bars come, ms by the clock. */
  readonly intervalMs: number;
  /**
   * The bar after `last` (the first one after undefined), once its time has come; undefined when there are no more.
   * Rejects with the signal's reason. The same `last` at the same time gives the same bar.
   */
  next(last: Bar | undefined, signal: AbortSignal): Promise<Bar | undefined>;
}

/** An order of this concern that waits for its fill. */
export interface OpenOrder {
  readonly id: string;
  readonly side: 'buy' | 'sell';
  readonly kind: 'market' | 'limit';
  readonly purpose: 'entry' | 'exit';
  readonly quantity: Decimal;
  readonly limitPrice?: Decimal;
  /** The strategy's own name for it, e.g. a level of a grid. */
  readonly tag?: string;
}

/** What a strategy sees after a bar has closed. */
export interface StrategyView {
  /** The newest last, the bar that just closed; at most as many as the engine keeps. */
  readonly bars: readonly Bar[];
  /** Units of the base asset that can be sold, so without what is below the quantity's step; never below 0. */
  readonly position: Decimal;
  readonly averagePrice: Decimal | undefined;
  /** Quote asset that no order has reserved. */
  readonly freeCash: Decimal;
  /** Cash, reserved or not, and the position at the last close. */
  readonly equity: Decimal;
  /** Its own. */
  readonly openOrders: readonly OpenOrder[];
}

/** What a strategy wants: an order at full size (the risk gate makes it smaller, or refuses it), or one canceled. */
export type Intent =
  | {
      readonly type: 'order';
      readonly side: 'buy' | 'sell';
      readonly kind: 'market' | 'limit';
      /** `entry` opens or adds; `exit` protects or reduces, and lives on in a pause. */
      readonly purpose: 'entry' | 'exit';
      readonly quantity: Decimal;
      /** With limit. */
      readonly limitPrice?: Decimal;
      readonly tag?: string;
    }
  | { readonly type: 'cancel'; readonly orderId: string };

/** A strategy that runs. It keeps nothing between bars: what it wants follows from what it sees, so a restart changes nothing. */
export interface TradingStrategy {
  /** Bars that it needs to see before it wants anything. */
  readonly warmupBars: number;
  onBar(view: StrategyView): readonly Intent[];
}
