import type { JsonObject } from '@hermes-fleet/protocol';
import type { BookEntry, OrderView } from './books.ts';
import type { Concern, Restriction, Strategy } from './concern.ts';

/** The effect of a reconcile. */
export interface Reconciled {
  readonly canceledOrders: number;
  /** The position that the new strategy takes over, in the base asset; absent unless the strategy was switched. */
  readonly inheritedPosition?: string;
}

/** One concern's paper account. Amounts are decimal strings in the quote asset, quantities in the base asset. */
export interface EngineView {
  readonly position: {
    readonly quantity: string;
    readonly averagePrice: string | null;
    readonly unrealizedPnl: string;
  };
  readonly equity: {
    /** Cash, reserved cash, and the position at the last close. */
    readonly total: string;
    /** Cash that no order has reserved. */
    readonly cash: string;
    readonly reserved: string;
    readonly realizedPnl: string;
    readonly feesPaid: string;
  };
  readonly openOrders: readonly OrderView[];
  /** The newest first, at most 20. */
  readonly recentOrders: readonly OrderView[];
  readonly lastBar: { readonly at: string; readonly close: string } | null;
  readonly execution: {
    readonly state: 'ok' | 'degraded';
    readonly reasons: readonly string[];
    readonly bars: number;
    readonly fills: number;
    readonly rejects: number;
    readonly consecutiveErrors: number;
    readonly averageSlippageBps: string | null;
  };
}

/** Restricts an engine beside its control state. Of all holds the strictest counts. */
export interface Hold extends Restriction {
  readonly reason: string;
}

/** The engines of all concerns. */
export interface Runtime {
  /** Why this strategy cannot run (unknown kind, wrong params, faulted), or undefined. Changes nothing. */
  preflight(strategy: Strategy): string | undefined;
  /**
   * Brings a concern's engine to the desired state. Orders are canceled when it resolves. Idempotent. When it rejects,
   * the engine continues unchanged.
   */
  reconcile(concern: Concern, strategy: Strategy | undefined): Promise<Reconciled>;
  /**
   * Restricts an engine at once, in memory only, until its holder takes the hold back with undefined. A hold outlasts every
   * reconcile. Throws NOT_FOUND for an unknown concern.
   */
  setHold(concernId: string, holder: string, hold: Hold | undefined): void;
  /**
   * The health of execution, with the reasons of a degradation (stale feed, rejects, errors). `reasons` also names holds; a
   * hold is no degradation. `unsaved`: why the engine's state is not on disk.
   */
  health(concernId: string): {
    readonly degraded: boolean;
    readonly reasons: readonly string[];
    readonly unsaved?: string;
  };
  view(concernId: string): EngineView | undefined;
  /**
   * Cancels all orders, and opens the account anew with the balances of the configuration. Resolves when that is on disk.
   * Rejects with NOT_FOUND for an unknown concern, and with STORE_UNAVAILABLE if it is in effect but not saved yet.
   */
  resetAccount(concernId: string): Promise<void>;
  /** Starts following the feeds: of these concerns, or of all. Those that were started go on. */
  start(concernIds?: readonly string[]): void;
  /** Finishes the current bar and waits until its snapshot is durable. */
  close(): Promise<void>;
}

/** Receives the runtime's events for the metrics. Its functions never throw. */
export interface RuntimeWatcher {
  order(concernId: string, strategyId: string, kind: 'placed' | 'filled' | 'canceled' | 'rejected'): void;
  /** After every bar and every reconcile. */
  changed(concernId: string): void;
}

/** Stores engine snapshots and the status of strategies. */
export interface EngineStore {
  /** Saves a snapshot with the entries that led to it, both or none. Entries that are saved already are left out. */
  saveEngine(concernId: string, snapshot: JsonObject, entries: readonly BookEntry[]): Promise<void>;
  loadEngine(concernId: string): JsonObject | undefined;
  /** Number of the newest saved entry; 0 if there is none. */
  lastEntry(concernId: string): number;
  setStatus(strategyId: string, status: Strategy['status'], reason: string): Promise<void>;
}
