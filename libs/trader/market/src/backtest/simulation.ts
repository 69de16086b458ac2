import { type Ids, silentLog } from '@hermes-fleet/protocol/ports';
import { createEngine, type Engine } from '../broker/engine.ts';
import { type Order, viewOf } from '../broker/order.ts';
import type { Desired } from '../broker/reconcile-orders.ts';
import { type DegradedConfig, degradations } from '../follow/degraded.ts';
import { createFaults } from '../follow/faults.ts';
import type { PerformanceFigures, SaleProfit } from '../performance/performance.ts';
import { cannotRun, createStrategy, STRATEGY_KINDS, type StrategyKind } from '../strategies/index.ts';
import type { OrderView } from '../terms/books.ts';
import type { Concern, Strategy } from '../terms/concern.ts';
import type { Market } from '../terms/market.ts';
import type { Reconciled } from '../terms/runtime-port.ts';
import type { Bar } from '../terms/strategy.ts';
import type { EquityPoint } from './equity-curve.ts';
import { createSimulatedAccount } from './simulated-account.ts';

/** An order that ended, or that was open at the end. */
export interface SimulatedOrder {
  readonly order: OrderView;
  /** The decision that had configured the engine when the order was placed. */
  readonly decisionId: string | undefined;
  /** The profit of a sale that filled; undefined for every other order. */
  readonly sale: SaleProfit | undefined;
}

export interface SimulationOptions {
  readonly concernId: string;
  readonly market: Market;
  readonly degraded: DegradedConfig;
  readonly kinds?: Readonly<Record<string, StrategyKind>>;
  /** Called for each order when it ends, and by `finish` for those that are open. */
  readonly onOrder?: ((order: SimulatedOrder) => void) | undefined;
}

export interface SimulationResult {
  readonly figures: PerformanceFigures;
  readonly curve: readonly EquityPoint[];
  readonly orders: {
    readonly placed: number;
    readonly filled: number;
    readonly canceled: number;
    readonly rejected: number;
    readonly open: number;
  };
  /** Bars at which the strategy failed, and the first of these errors. */
  readonly errors: number;
  readonly firstError: string | undefined;
  readonly view: ReturnType<Engine['view']>;
}

export type Simulation = ReturnType<typeof createSimulation>;

/**
 * A concern of the runtime without clock, feed and store: the engine, the risk gate and the rules for failing strategies
 * are the same, so the same bars and reconciles give the same orders. Order ids are numbers in sequence.
 */
export function createSimulation(options: SimulationOptions) {
  const { concernId, market, degraded, kinds = STRATEGY_KINDS, onOrder } = options;
  const account = createSimulatedAccount(market);
  const placedBy = new Map<string, string | undefined>();
  const counts = { placed: 0, filled: 0, canceled: 0, rejected: 0 };
  const engine = createEngine({
    concernId,
    market,
    ids: countingIds(),
    watcher: { order: () => undefined },
    onOrder: orderChanged,
  });
  const faults = createFaults({
    concernId,
    after: degraded.faulted_after_errors,
    store: { setStatus: async () => undefined },
    log: silentLog,
  });
  let desired: Desired | undefined;
  let isEnabled = false;
  let decision: string | undefined;
  let bars = 0;
  let errors = 0;
  let firstError: string | undefined;

  function orderChanged(order: Order, what: keyof typeof counts): void {
    counts[what] += 1;
    if (what === 'placed') {
      if (onOrder !== undefined) placedBy.set(order.id, decision);
      return;
    }
    const sale = what === 'filled' ? account.fill(order) : undefined;
    if (onOrder === undefined) return;
    // The risk gate refuses an order before it is placed.
    const decisionId = placedBy.has(order.id) ? placedBy.get(order.id) : decision;
    placedBy.delete(order.id);
    onOrder({ order: viewOf(order), decisionId, sale });
  }

  function configure(): Reconciled {
    if (desired === undefined) return { canceledOrders: 0 };
    const { strategy } = desired;
    const mayEnter = isEnabled && strategy !== undefined && faults.reasonOf(strategy.id) === undefined;
    return engine.configure({ ...desired, runState: mayEnter ? desired.runState : 'paused' });
  }

  return {
    /** As `Runtime.preflight`. */
    preflight: (strategy: Strategy): string | undefined => cannotRun(strategy, kinds, faults.reasonOf),
    /** Why a strategy was faulted, or undefined. */
    faulted: faults.reasonOf,
    /** As `Runtime.reconcile`; `decisionId` is recorded with the orders that follow. */
    reconcile: (
      { runState, riskMode }: Concern,
      strategy: Strategy | undefined,
      decisionId?: string,
    ): Reconciled => {
      const trading = strategy && { id: strategy.id, trading: createStrategy(strategy, kinds) };
      desired = { runState, riskMode, strategy: trading };
      isEnabled = strategy?.status === 'enabled';
      decision = decisionId;
      return configure();
    },
    /** As `Runtime.health`, without the time of the feed. */
    reasons: (): readonly string[] =>
      degradations(degraded, {
        ...engine.failureCounts(),
        now: 0,
        lastBarAt: 0,
        intervalMs: 1,
        hasFeedEnded: false,
        feedErrors: 0,
        forced: undefined,
      }),
    /** Throws for a bar that the engine does not take. */
    bar: (bar: Bar): void => {
      if (bars === 0) account.open(bar);
      const { error } = engine.onBar(bar);
      if (engine.lastBar()?.at !== bar.at) throw error ?? new Error(`the engine took no bar at ${bar.at}`);
      bars += 1;
      // No store takes the books of a simulation.
      engine.booked(Number.MAX_SAFE_INTEGER);
      account.close(bar);
      const strategy = desired?.strategy;
      if (error === undefined) faults.succeeded();
      else {
        errors += 1;
        firstError ??= error.message;
        if (strategy && faults.failed(strategy.id, error)) configure();
      }
    },
    finish: (): SimulationResult => {
      const view = engine.view();
      for (const order of view.openOrders)
        onOrder?.({ order, decisionId: placedBy.get(order.id), sale: undefined });
      return {
        figures: account.figures(),
        curve: account.curve(),
        orders: { ...counts, open: view.openOrders.length },
        errors,
        firstError,
        view,
      };
    },
  };
}

/** Order ids in sequence, which make two runs comparable. */
function countingIds(): Ids {
  let count = 0;
  return {
    uuid: () => {
      count += 1;
      return `order-${count}`;
    },
  };
}
