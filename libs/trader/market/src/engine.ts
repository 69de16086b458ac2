import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { Ids } from '@hermes-fleet/protocol/ports';
import { askStrategy } from './broker/ask-strategy.ts';
import { fillBar } from './broker/fill-bar.ts';
import { beginHistory, moveHistory } from './broker/history.ts';
import { readBar } from './broker/intents.ts';
import { booked, continueBooks, recordBar, recordOrder } from './broker/journal.ts';
import type { Order } from './broker/order.ts';
import { reconcileOrders } from './broker/reconcile-orders.ts';
import { hasOtherBalances, recordReset, resetAccount } from './broker/reset-account.ts';
import { readSnapshot, writeSnapshot } from './broker/snapshot.ts';
import { type EngineState, firstState, HISTORY_BARS, type OrderListener } from './broker/state.ts';
import { viewEngine } from './broker/view.ts';
import type { Desired, Engine } from './terms/engine-port.ts';
import type { Market } from './terms/market.ts';
import { text } from './terms/money.ts';
import type { Reconciled, RuntimeWatcher } from './terms/runtime-port.ts';
import type { Bar, TradingStrategy } from './terms/strategy.ts';

export interface EngineOptions {
  readonly concernId: string;
  readonly market: Market;
  /** From an earlier engine of this concern, which this one resumes once it is configured. */
  readonly snapshot?: JsonObject | undefined;
  /** Number of the newest entry of its stored books; 0 by default. */
  readonly lastEntry?: number;
  /** The name of the feed that bars come from. Bars of another one than before begin a new history. */
  readonly feed?: string | undefined;
  readonly ids: Ids;
  readonly watcher: Pick<RuntimeWatcher, 'order'>;
  /** Called for each order that is placed and for each that ends, after the change that it is part of. */
  readonly onOrder?: (order: Order, what: Parameters<RuntimeWatcher['order']>[2]) => void;
}

/**
 * A deterministic paper trading engine for one spot account. An order fills whole on a bar after the one that it was
 * placed in, or not at all. Throws STORE_UNAVAILABLE for a snapshot that cannot be read. `configure` throws
 * CONFIG_INVALID and changes nothing for a strategy that needs more than `HISTORY_BARS` bars.
 */
export function createEngine({
  concernId,
  market,
  snapshot,
  lastEntry = 0,
  feed,
  ids,
  watcher,
  onOrder: tell,
}: EngineOptions): Engine {
  const stored = snapshot === undefined ? firstState(market) : readSnapshot(snapshot, concernId, market);
  let state = continueBooks(stored, lastEntry);
  /** The feed that begins a new history with its first bar. */
  let nextFeed = state.feed === undefined || state.bars.length === 0 ? undefined : feed;
  if (nextFeed === state.feed) nextFeed = undefined;
  if (nextFeed === undefined && feed !== undefined) state = { ...state, feed };
  let trading: TradingStrategy | undefined;

  /** Applies a change whole or, where it throws, not at all. Returns the number of canceled orders. */
  function change(work: (onOrder: OrderListener) => EngineState): number {
    const changes: [Order, Parameters<OrderListener>[1]][] = [];
    const next = work((order, what) => changes.push([order, what]));
    state = changes.reduce((before, [order, what]) => recordOrder(before, order, what), next);
    for (const [order, what] of changes) {
      if (what === 'reduced') continue;
      watcher.order(concernId, order.strategyId, what);
      tell?.(order, what);
    }
    return changes.filter(([, what]) => what === 'canceled').length;
  }

  function failed(thrown: unknown): { error: Error } {
    state = { ...state, consecutiveErrors: state.consecutiveErrors + 1 };
    return { error: thrown instanceof Error ? thrown : new Error(`a strategy threw ${String(thrown)}`) };
  }

  function configure(desired: Desired): Reconciled {
    const { strategy, runState, riskMode, rev } = desired;
    if (strategy !== undefined && strategy.trading.warmupBars > HISTORY_BARS) throw tooLong(strategy);
    const before = state.configured.strategyId;
    const strategyId = strategy?.id ?? null;
    const canceledOrders = change((onOrder) => ({
      ...reconcileOrders(state, desired, market, onOrder),
      configured: { runState, riskMode, strategyId, ...(rev !== undefined && { rev }) },
      consecutiveErrors: strategyId === before ? state.consecutiveErrors : 0,
    }));
    trading = strategy?.trading;
    const isSwitched = strategyId !== null && strategyId !== before;
    return { canceledOrders, ...(isSwitched ? { inheritedPosition: text(state.account.position) } : {}) };
  }

  const lastBar = (): Bar | undefined => (nextFeed === undefined ? state.bars.at(-1) : undefined);

  function onBar(bar: Bar): { error?: Error } {
    try {
      const next = readBar(bar, lastBar());
      const begun = nextFeed;
      if (begun !== undefined) change((onOrder) => beginHistory(state, begun, onOrder));
      nextFeed = undefined;
      change((onOrder) => fillBar(state, next, market, onOrder));
    } catch (thrown) {
      return failed(thrown);
    }
    try {
      const strategy = trading;
      if (strategy !== undefined) change((onOrder) => askStrategy(state, strategy, { market, ids, onOrder }));
      state = { ...state, consecutiveErrors: 0 };
      return {};
    } catch (thrown) {
      return failed(thrown);
    } finally {
      state = recordBar(state);
    }
  }

  return {
    configure,
    onBar,
    view: () => viewEngine(state),
    failureCounts: () => ({
      recentRejects: state.rejectsOfBars.reduce((total, each) => total + each, 0),
      consecutiveErrors: state.consecutiveErrors,
    }),
    lastBar,
    moveHistory: (lastAt) => {
      state = moveHistory(state, lastAt);
    },
    snapshot: () => writeSnapshot(state),
    hasOtherBalances: () => hasOtherBalances(state, market),
    resetAccount: () => {
      change((onOrder) => resetAccount(state, market, onOrder));
      state = recordReset(state);
    },
    entries: () => state.journal.pending.map(({ write }) => write()),
    booked: (n) => {
      state = booked(state, n);
    },
  };
}

function tooLong({ id, trading }: { id: string; trading: TradingStrategy }): FleetError {
  const reason = `it needs ${trading.warmupBars} bars of history, and the engine keeps ${HISTORY_BARS}`;
  return new FleetError('CONFIG_INVALID', `strategy ${id} cannot run: ${reason}`);
}
