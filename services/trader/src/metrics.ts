import type { Runtime, RuntimeWatcher } from '@hermes-fleet/paper';
import { ControlAction, ControlCode, ControlStatus, RiskMode } from '@hermes-fleet/protocol';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { ControlStore } from './control/control-store.ts';
import type { DeskWatcher } from './control/create-decision-service.ts';

/** What a value outside the bounds of its label becomes. */
const OTHER = 'other';
const ACTIONS = [...ControlAction.options, 'none'];
const ORDER_KINDS = ['placed', 'filled', 'canceled', 'rejected'] as const;
const RUN_STATES = ['running', 'paused'] as const;
/** Strategies with a label of their own; those that are listed after them share one. */
const MAX_STRATEGIES = 200;

export interface TraderMetricsOptions {
  /** That of createMetrics. */
  readonly registry: Registry;
  readonly store: Pick<ControlStore, 'head' | 'concern'>;
  /** Asked at every scrape: a feed that has gone stale has no bar to tell of it. */
  readonly runtime: Pick<Runtime, 'view' | 'health'>;
  /** Those of trader.yaml. */
  readonly concerns: readonly { readonly id: string }[];
  readonly strategies: readonly { readonly id: string; readonly name: string }[];
}

export interface TraderMetrics {
  readonly desk: DeskWatcher;
  readonly runtime: RuntimeWatcher;
  /** Whether the audit is whole, once that is known. */
  auditOk(ok: boolean): void;
}

/**
 * The metric families of the trader (design 5, Metrics), the label sets that are known beforehand at 0. Recorders never
 * throw, and a label value outside its bounds counts as `other`. What stands in the store or the runtime is read there
 * when it is asked for; what cannot be read then is left out.
 */
export function createTraderMetrics(o: TraderMetricsOptions): TraderMetrics {
  const { store, runtime } = o;
  const registers = [o.registry];
  const concerns = o.concerns.map(({ id }) => id);
  const names = new Map(o.strategies.slice(0, MAX_STRATEGIES).map(({ id, name }) => [id, name]));

  const decisions = new Counter({
    name: 'fleet_trader_decisions_total',
    help: 'Attempts at a decision, by what became of them.',
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
    help: 'Orders, by strategy and what became of them.',
    labelNames: ['strategy', 'kind'],
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
    help: '0 once the audit was found to be broken.',
    registers,
  });

  /** A gauge with a value for each concern that has one. */
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
  perConcern('fleet_trader_position', 'What is held, in units of the base asset.', [], (concern) =>
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
  perConcern('fleet_trader_execution_degraded', 'Whether execution is degraded.', [], (concern) => [
    [runtime.health(concern).degraded ? 1 : 0],
  ]);

  for (const action of ACTIONS)
    for (const status of ControlStatus.options) decisions.inc({ action, status }, 0);
  for (const code of ControlCode.options) rejections.inc({ code }, 0);
  for (const strategy of names.values()) for (const kind of ORDER_KINDS) orders.inc({ strategy, kind }, 0);
  auditOk.set(1);

  const label = {
    action: allowed(ACTIONS),
    status: allowed(ControlStatus.options),
    code: allowed(ControlCode.options),
    kind: allowed(ORDER_KINDS),
  };
  return {
    desk: {
      decided: (action, status) =>
        decisions.inc({ action: label.action(action), status: label.status(status) }),
      rejected: (code) => rejections.inc({ code: label.code(code) }),
      // Its records are counted by its head: outcomes and seeds are among them.
      audited: () => {},
    },
    runtime: {
      order: (_concern, strategy, kind) =>
        orders.inc({ strategy: names.get(strategy) ?? OTHER, kind: label.kind(kind) }),
      // Everything that changes is read at the next scrape.
      changed: () => {},
    },
    auditOk: (ok) => auditOk.set(ok ? 1 : 0),
  };
}

const allowed = (known: readonly string[]): ((value: string) => string) => {
  const set = new Set(known);
  return (value) => (set.has(value) ? value : OTHER);
};

/** A store that cannot be read now leaves a value out; it must not take every other metric with it. */
function quietly(read: () => void): void {
  try {
    read();
  } catch {
    // Told by /ready, and by whoever reads the store for its work.
  }
}
