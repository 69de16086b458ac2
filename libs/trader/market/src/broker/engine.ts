import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { Ids } from '@hermes-fleet/protocol/ports';
import type { BookEntry } from '../terms/books.ts';
import type { Market } from '../terms/market.ts';
import { text, ZERO } from '../terms/money.ts';
import type { Reconciled, RuntimeWatcher } from '../terms/runtime-port.ts';
import type { Bar, TradingStrategy } from '../terms/strategy.ts';
import { openAccount } from './account.ts';
import { askStrategy } from './ask-strategy.ts';
import { fillBar } from './fill-bar.ts';
import { readBar } from './intents.ts';
import { booked, continueBooks, recordAccount, recordBar, recordOrder } from './journal.ts';
import type { Order } from './order.ts';
import { type Desired, reconcileOrders } from './reconcile-orders.ts';
import { readSnapshot, writeSnapshot } from './snapshot.ts';
import { cancelOrders, type EngineState, firstState, HISTORY_BARS, type OrderListener } from './state.ts';
import { viewEngine } from './view.ts';

/** The paper account and the orders of one concern: synchronous, deterministic, and changed only by bars and `configure`. */
export type Engine = ReturnType<typeof createEngine>;

interface EngineOptions {
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
}: EngineOptions) {
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

  const lastBar = (): Bar | undefined => (nextFeed === undefined ? state.bars.at(-1) : undefined);

  return {
    /**
     * Takes effect at once and is idempotent. A pause cancels entries, `halted` all orders or all but exits (the market says
     * which), and a switch the open orders of the previous strategy.
     */
    configure: (desired: Desired): Reconciled => {
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
      return { canceledOrders, ...(isSwitched && { inheritedPosition: text(state.account.position) }) };
    },
    /** Fills orders by the bar, then asks the strategy. Never throws: a strategy's error is counted and returned. */
    onBar: (bar: Bar): { readonly error?: Error } => {
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
        if (strategy !== undefined)
          change((onOrder) => askStrategy(state, strategy, { market, ids, onOrder }));
        state = { ...state, consecutiveErrors: 0 };
        return {};
      } catch (thrown) {
        return failed(thrown);
      } finally {
        state = recordBar(state);
      }
    },
    /** Lacks the health of the execution, which the runtime adds. */
    view: () => viewEngine(state),
    /** Orders rejected in the last bars, and consecutive errors. */
    failureCounts: () => ({
      recentRejects: state.rejectsOfBars.reduce((total, each) => total + each, 0),
      consecutiveErrors: state.consecutiveErrors,
    }),
    /** Undefined before the first bar of the feed, also of one that follows another. */
    lastBar,
    /** Moves the times of the bars so that the last one closed at `lastAt`: the clock that they are from was set back. */
    moveHistory: (lastAt: number): void => {
      state = movedHistory(state, lastAt);
    },
    /** True if the account was opened with other balances than the market has now. */
    hasOtherBalances: (): boolean => {
      const { quote, base } = state.opening;
      return state.counts.bars > 0 && !(quote.eq(market.balances.quote) && base.eq(market.balances.base));
    },
    /** Cancels all orders, and opens the account anew with the balances of the market, at the last close. */
    resetAccount: (): void => {
      const { balances } = market;
      const last = state.bars.at(-1);
      change((onOrder) => ({
        ...cancelOrders(state, () => 'the account was reset', onOrder),
        opening: balances,
        account: openAccount(balances.quote, balances.base, last?.close ?? ZERO),
      }));
      if (last !== undefined) state = recordAccount(state, 'reset', last.at);
    },
    /** The whole state as JSON, from which `createEngine` restores it: save it together with `entries`. */
    snapshot: (): JsonObject => writeSnapshot(state),
    /** The entries of the books that are not saved yet, oldest first. */
    entries: (): readonly BookEntry[] => state.journal.pending.map(({ write }) => write()),
    /** Forgets the entries up to number `n`, which are saved. */
    booked: (n: number): void => {
      state = booked(state, n);
    },
  };
}

/**
 * Begins the history of another feed, whose prices have nothing to do with those before: open orders are canceled, since
 * they rest at prices of the former feed. The account stays.
 */
function beginHistory(before: EngineState, feed: string, onOrder: OrderListener): EngineState {
  const state = cancelOrders(before, () => `the feed changed to ${feed}`, onOrder);
  return { ...state, feed, bars: [], rejectsOfBars: [] };
}

function movedHistory(state: EngineState, lastAt: number): EngineState {
  const by = lastAt - (state.bars.at(-1)?.at ?? lastAt);
  return {
    ...state,
    bars: state.bars.map((bar) => ({ ...bar, at: Math.max(0, bar.at + by) })),
    open: state.open.map((order) => ({ ...order, placedAt: Math.min(order.placedAt, lastAt) })),
  };
}

function tooLong({ id, trading }: { id: string; trading: TradingStrategy }): FleetError {
  const reason = `it needs ${trading.warmupBars} bars of history, and the engine keeps ${HISTORY_BARS}`;
  return new FleetError('CONFIG_INVALID', `strategy ${id} cannot run: ${reason}`);
}
