import type { Runtime, RuntimeWatcher } from '@hermes-fleet/market';
import { ControlAction, ControlCode, ControlStatus, RiskMode } from '@hermes-fleet/protocol/control';
import { Counter, Gauge, type Registry } from 'prom-client';
import { ConcernBreakers } from './config/breaker-schema.ts';
import type { DecisionObserver } from './control/audit-recorder.ts';
import { BREAKER } from './control/breaker-caller.ts';
import type { ControlStore } from './control/control-store.ts';

/** Replaces unknown label values. */
const OTHER = 'other';
/** The strategy of a concern without one. */
const NONE = 'none';
const ACTIONS = [...ControlAction.options, 'none'];
const ORDER_KINDS = ['placed', 'filled', 'canceled', 'rejected'] as const;
const RUN_STATES = ['running', 'paused'] as const;
/** Most strategies with their own label; the others share one. */
const MAX_STRATEGIES = 200;

export interface TraderMetricsOptions {
  readonly registry: Registry;
  readonly store: Pick<ControlStore, 'head' | 'concern' | 'decisionInForce' | 'callerOfDecision'>;
  /** Read at every scrape, since a stale feed sends no bar that would report it. */
  readonly runtime: Pick<Runtime, 'view' | 'health'>;
  readonly concerns: readonly { readonly id: string }[];
  readonly strategies: readonly { readonly id: string; readonly name: string }[];
}

export interface TraderMetrics {
  readonly decisions: DecisionObserver;
  readonly runtime: RuntimeWatcher;
  /** Sets the result of the audit's verification. */
  auditOk(ok: boolean): void;
  /** Counts a decision of a circuit breaker. */
  breakerTripped(concernId: string, breaker: string): void;
  /** The label of a strategy. */
  strategyName(id: string | null): string;
}

/**
 * The trader's metric families (docs/metrics.md). Known label sets start at 0, and unknown label values count as `other`.
 * Values of the store and the runtime are read at each scrape and omitted if they cannot be read. Recorders never throw.
 */
export function createTraderMetrics(o: TraderMetricsOptions): TraderMetrics {
  const { store, runtime } = o;
  const registers = [o.registry];
  const concerns = o.concerns.map(({ id }) => id);
  const names = new Map(o.strategies.slice(0, MAX_STRATEGIES).map(({ id, name }) => [id, name]));

  const decisions = new Counter({
    name: 'fleet_trader_decisions_total',
    help: 'Attempts at a decision, by outcome.',
    labelNames: ['action', 'status'],
    registers,
  });
  const rejections = new Counter({
    name: 'fleet_trader_rejections_total',
    help: 'Reasons for which attempts were rejected or failed.',
    labelNames: ['code'],
    registers,
  });
  const orders = new Counter({
    name: 'fleet_trader_orders_total',
    help: 'Orders, by strategy and outcome.',
    labelNames: ['strategy', 'kind'],
    registers,
  });
  const trips = new Counter({
    name: 'fleet_trader_breaker_trips_total',
    help: 'Decisions of circuit breakers.',
    labelNames: ['concern', 'breaker'],
    registers,
  });
  new Counter({
    name: 'fleet_trader_audit_records_total',
    help: 'Records in the audit.',
    registers,
    collect() {
      quietly(() => {
        const { seq } = store.head();
        this.reset();
        this.inc(seq);
      });
    },
  });
  const auditOk = new Gauge({
    name: 'fleet_trader_audit_ok',
    help: '0 while the audit is broken and not accepted.',
    registers,
  });

  const perConcern = <L extends string>(
    name: string,
    help: string,
    more: readonly L[],
    values: (concern: string) => readonly (readonly [value: number, labels?: Record<L, string>])[],
  ): void => {
    new Gauge<'concern' | L>({
      name,
      help,
      labelNames: ['concern', ...more],
      registers,
      collect() {
        this.reset();
        for (const concern of concerns)
          quietly(() => {
            for (const [value, labels] of values(concern))
              if (Number.isFinite(value))
                this.set({ concern, ...labels } as Record<'concern' | L, string>, value);
          });
      },
    });
  };
  const viewed = (concern: string, value: (view: NonNullable<ReturnType<Runtime['view']>>) => string) => {
    const view = runtime.view(concern);
    return view ? ([[Number(value(view))]] as const) : [];
  };
  perConcern('fleet_trader_price', 'Last close, in the quote asset.', [], (concern) =>
    viewed(concern, ({ lastBar }) => lastBar?.close ?? 'NaN'),
  );
  perConcern('fleet_trader_position', 'Position, in units of the base asset.', [], (concern) =>
    viewed(concern, ({ position }) => position.quantity),
  );
  perConcern(
    'fleet_trader_equity',
    'Cash and position at the last close, in the quote asset.',
    [],
    (concern) => viewed(concern, ({ equity }) => equity.total),
  );
  perConcern('fleet_trader_risk_mode', '1 for the risk mode that is set, else 0.', ['mode'], (concern) => {
    const now = store.concern(concern)?.riskMode;
    return now ? RiskMode.options.map((mode) => [mode === now ? 1 : 0, { mode }] as const) : [];
  });
  perConcern('fleet_trader_run_state', '1 for the run state that is set, else 0.', ['state'], (concern) => {
    const now = store.concern(concern)?.runState;
    return now ? RUN_STATES.map((state) => [state === now ? 1 : 0, { state }] as const) : [];
  });
  perConcern(
    'fleet_trader_breaker_tripped',
    '1 while the decision in force is that of a circuit breaker, else 0.',
    [],
    (concern) => {
      const id = store.decisionInForce(concern);
      return [[id !== undefined && store.callerOfDecision(id) === BREAKER ? 1 : 0]];
    },
  );
  perConcern('fleet_trader_execution_degraded', '1 while execution is degraded, else 0.', [], (concern) => [
    [runtime.health(concern).degraded ? 1 : 0],
  ]);

  for (const action of ACTIONS)
    for (const status of ControlStatus.options) decisions.inc({ action, status }, 0);
  for (const concern of concerns)
    for (const breaker of ConcernBreakers.keyof().options) trips.inc({ concern, breaker }, 0);
  for (const code of ControlCode.options) rejections.inc({ code }, 0);
  for (const strategy of new Set([...names.values(), OTHER]))
    for (const kind of ORDER_KINDS) orders.inc({ strategy, kind }, 0);
  auditOk.set(1);

  const label = {
    action: allowed(ACTIONS),
    status: allowed(ControlStatus.options),
    code: allowed(ControlCode.options),
    kind: allowed(ORDER_KINDS),
  };
  return {
    decisions: {
      decided: (action, status) =>
        decisions.inc({ action: label.action(action), status: label.status(status) }),
      rejected: (code) => rejections.inc({ code: label.code(code) }),
      // The counter of records reads the audit head, which includes outcomes and seeds.
      audited: () => {},
    },
    runtime: {
      order: (_concern, strategy, kind) =>
        orders.inc({ strategy: names.get(strategy) ?? OTHER, kind: label.kind(kind) }),
      // Changes are read at the next scrape.
      changed: () => {},
    },
    auditOk: (ok) => auditOk.set(ok ? 1 : 0),
    breakerTripped: (concern, breaker) => trips.inc({ concern, breaker }),
    strategyName: (id) => (id === null ? NONE : (names.get(id) ?? OTHER)),
  };
}

const allowed = (known: readonly string[]): ((value: string) => string) => {
  const set = new Set(known);
  return (value) => (set.has(value) ? value : OTHER);
};

/** Omits a value that cannot be read, so that the other metrics are still served. */
function quietly(read: () => void): void {
  try {
    read();
  } catch {
    // /ready reports the failure.
  }
}
