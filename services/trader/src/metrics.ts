import type { PerformanceFigures, Runtime, RuntimeWatcher } from '@hermes-fleet/market';
import { RiskMode } from '@hermes-fleet/protocol/control';
import { createRecorder, type Readers, type Reading, type Recorder } from '@hermes-fleet/service';
import type { BookKeeper } from './books/book-keeper.ts';
import { ConcernBreakers } from './config/breaker-schema.ts';
import { BREAKER } from './control/access.ts';
import type { ControlStore } from './control/control-store.ts';
import { RUN_STATES, TRADER_FAMILIES } from './control/metric-families.ts';

/** Most strategies with their own label; the others share one. */
const MAX_STRATEGIES = 200;

export interface TraderMetricsOptions {
  readonly registry: Recorder<typeof TRADER_FAMILIES>['registry'];
  readonly store: Pick<ControlStore, 'head' | 'concern' | 'decisionInForce' | 'callerOfDecision'>;
  readonly runtime: Pick<Runtime, 'view' | 'health'>;
  readonly keeper: Pick<BookKeeper, 'analysis'>;
  readonly concerns: readonly { readonly id: string }[];
  readonly strategies: readonly { readonly id: string; readonly name: string }[];
}

export interface TraderMetrics extends Recorder<typeof TRADER_FAMILIES> {
  readonly watcher: RuntimeWatcher;
}

type View = NonNullable<ReturnType<Runtime['view']>>;

/**
 * The trader's own metrics (docs/metrics.md). Store, runtime and books are read at each scrape, since a stale feed sends no bar
 * that would report it; what cannot be read, or is not defined, is omitted.
 */
export function createTraderMetrics(o: TraderMetricsOptions): TraderMetrics {
  const { store, runtime, keeper } = o;
  const names = new Map(o.strategies.slice(0, MAX_STRATEGIES).map(({ id, name }) => [id, name]));
  const concerns = o.concerns.map(({ id }) => id);
  const metrics = createRecorder(o.registry, TRADER_FAMILIES, {
    concerns,
    strategies: [...names.values()],
    breakers: ConcernBreakers.keyof().options,
  });
  const nameOf = (id: string | null): string => (id === null ? 'none' : (names.get(id) ?? 'other'));

  const each =
    <L extends object>(read: (concern: string) => readonly (readonly [labels: L, value: Reading])[]) =>
    () =>
      concerns.flatMap((concern) => {
        try {
          return read(concern).map(([labels, value]) => [{ concern, ...labels }, value] as const);
        } catch {
          // The other concerns are still shown; /ready reports the failure.
          return [];
        }
      });
  const one = (value: (concern: string) => Reading) => each((concern) => [[{}, value(concern)]]);
  const viewed = (value: (view: View) => string | undefined) =>
    one((concern) => {
      const view = runtime.view(concern);
      return view && Number(value(view));
    });
  const figure = (of: (figures: PerformanceFigures) => number | null) =>
    one((concern) => {
      const analysis = keeper.analysis(concern);
      return analysis.since() === undefined ? undefined : of(analysis.total());
    });
  const figureOfEach = (of: (figures: PerformanceFigures) => number | null) =>
    each((concern) =>
      keeper
        .analysis(concern)
        .strategies()
        .map(({ id, figures }) => [{ strategy: nameOf(id) }, of(figures)]),
    );

  const readers: Readers<typeof TRADER_FAMILIES> = {
    fleet_trader_audit_records_total: () => store.head().seq,
    fleet_trader_price: viewed(({ lastBar }) => lastBar?.close),
    fleet_trader_position: viewed(({ position }) => position.quantity),
    fleet_trader_equity: viewed(({ equity }) => equity.total),
    fleet_trader_risk_mode: each((concern) => {
      const now = store.concern(concern)?.riskMode;
      return now ? RiskMode.options.map((mode) => [{ mode }, mode === now]) : [];
    }),
    fleet_trader_run_state: each((concern) => {
      const now = store.concern(concern)?.runState;
      return now ? RUN_STATES.map((state) => [{ state }, state === now]) : [];
    }),
    fleet_trader_breaker_tripped: one((concern) => {
      const id = store.decisionInForce(concern);
      return id !== undefined && store.callerOfDecision(id) === BREAKER;
    }),
    fleet_trader_execution_degraded: one((concern) => runtime.health(concern).degraded),
    fleet_trader_return: figure((of) => of.return),
    fleet_trader_drawdown: figure((of) => of.drawdown),
    fleet_trader_max_drawdown: figure((of) => of.maxDrawdown),
    fleet_trader_sharpe: figure((of) => of.sharpe),
    fleet_trader_sortino: figure((of) => of.sortino),
    fleet_trader_win_rate: figure((of) => of.winRate),
    fleet_trader_profit_factor: figure((of) => of.profitFactor),
    fleet_trader_exposure: figure((of) => of.exposure),
    fleet_trader_realized_profit: figure((of) => of.realized.toNumber()),
    fleet_trader_fees: figure((of) => of.fees.toNumber()),
    fleet_trader_strategy_profit: figureOfEach((of) => of.equity.minus(of.openingEquity).toNumber()),
    fleet_trader_strategy_return: figureOfEach((of) => of.return),
    fleet_trader_strategy_max_drawdown: figureOfEach((of) => of.maxDrawdown),
  };
  metrics.read(readers);
  metrics.set('fleet_trader_audit_ok', {}, true);
  return {
    ...metrics,
    watcher: {
      order: (_concern, strategy, kind) =>
        metrics.add('fleet_trader_orders_total', { strategy: nameOf(strategy), kind }),
      // Changes are read at the next scrape.
      changed: () => {},
    },
  };
}
