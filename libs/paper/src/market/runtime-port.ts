import type { JsonObject } from '@hermes-fleet/protocol';
import type { Concern, Strategy } from './concern.ts';

/** What bringing an engine to the desired state did. */
export interface Reconciled {
  readonly canceledOrders: number;
  /** What the new strategy took over, in units of the base asset; absent where none was switched. */
  readonly inheritedPosition?: string;
}

export interface OrderView {
  readonly id: string;
  readonly strategyId: string;
  readonly side: 'buy' | 'sell';
  readonly kind: 'market' | 'limit';
  /** `entry` opens or adds, `exit` protects or reduces. */
  readonly purpose: 'entry' | 'exit';
  readonly quantity: string;
  readonly limitPrice?: string;
  readonly state: 'open' | 'filled' | 'canceled' | 'rejected';
  readonly fillPrice?: string;
  readonly fee?: string;
  /** Why it was rejected, canceled, or made smaller. */
  readonly reason?: string;
  /** RFC 3339, of the bar that it was made in, and the one that ended it. */
  readonly placedAt: string;
  readonly endedAt?: string;
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
    /** What no order has reserved. */
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

/** The engines behind the concerns (design 4, Runtime). */
export interface Runtime {
  /** Why this strategy could not run (unknown kind, wrong params), or undefined. Changes nothing. */
  preflight(strategy: Strategy): string | undefined;
  /**
   * Brings a concern's engine to the desired state at once: what is to be canceled is, when it resolves. Idempotent.
   * Rejects when it could not; then the engine goes on as it was.
   */
  reconcile(concern: Concern, strategy: Strategy | undefined): Promise<Reconciled>;
  /** Whether execution is degraded (stale feed, rejects, errors in ticks), and why. */
  health(concernId: string): { readonly degraded: boolean; readonly reasons: readonly string[] };
  view(concernId: string): EngineView | undefined;
  /** Begins to follow the feeds. */
  start(): void;
  /** Lets the bar under way end and its snapshot be durable. */
  close(): Promise<void>;
}

/** What the runtime tells the metrics; never throws. */
export interface RuntimeWatcher {
  order(concernId: string, strategyId: string, kind: 'placed' | 'filled' | 'canceled' | 'rejected'): void;
  /** After every bar and every reconcile. */
  changed(concernId: string): void;
}

/** Where engines and faulted strategies are kept. */
export interface EngineStore {
  saveEngine(concernId: string, snapshot: JsonObject): Promise<void>;
  loadEngine(concernId: string): JsonObject | undefined;
  setStatus(strategyId: string, status: Strategy['status'], reason: string): Promise<void>;
}
