import type { JsonObject } from '@hermes-fleet/protocol';
import type { BookEntry } from './books.ts';
import type { Concern } from './concern.ts';
import type { EngineView, Reconciled } from './runtime-port.ts';
import type { Bar, TradingStrategy } from './strategy.ts';

/** The state that an engine is configured to. */
export interface Desired extends Pick<Concern, 'runState' | 'riskMode'> {
  /** The revision of the concern. */
  readonly rev?: number | undefined;
  /** Undefined: no strategy is active, and the position is held. */
  readonly strategy: { readonly id: string; readonly trading: TradingStrategy } | undefined;
}

/** The paper account and the orders of one concern: synchronous, deterministic, and changed only by bars and `configure`. */
export interface Engine {
  /**
   * Takes effect at once and is idempotent. A pause cancels entries, `halted` all orders or all but exits (the market says
   * which), and a switch the open orders of the previous strategy.
   */
  configure(desired: Desired): Reconciled;
  /** Fills orders by the bar, then asks the strategy. Never throws: a strategy's error is counted and returned. */
  onBar(bar: Bar): { readonly error?: Error };
  /** Lacks the health of the execution, which the runtime adds. */
  view(): Omit<EngineView, 'execution'> & {
    readonly execution: Omit<EngineView['execution'], 'state' | 'reasons'>;
  };
  /** Orders rejected in the last bars, and consecutive errors. */
  failureCounts(): { readonly recentRejects: number; readonly consecutiveErrors: number };
  /** Undefined before the first bar of the feed, also of one that follows another. */
  lastBar(): Bar | undefined;
  /** Moves the times of the bars so that the last one closed at `lastAt`: the clock was set back. */
  moveHistory(lastAt: number): void;
  /** True if the account was opened with other balances than the market has now. */
  hasOtherBalances(): boolean;
  /** Cancels all orders, and opens the account anew with the balances of the market, at the last close. */
  resetAccount(): void;
  /** The whole state as JSON, from which `createEngine` restores it: save it together with `entries`. */
  snapshot(): JsonObject;
  /** The entries of the books that are not saved yet, oldest first. */
  entries(): readonly BookEntry[];
  /** Forgets the entries up to number `n`, which are saved. */
  booked(n: number): void;
}
