import type { Concern, EngineView, Hold, Reconciled, Runtime, Strategy } from '@hermes-fleet/market';

type Desired = Pick<Concern, 'activeStrategyId' | 'runState' | 'riskMode'>;

/** A fake runtime that obeys at once by default. */
export interface TestRuntime
  extends Pick<Runtime, 'preflight' | 'reconcile' | 'health' | 'view' | 'setHold'> {
  /** The holds that are set, by concern and holder. */
  readonly holds: ReadonlyMap<string, Hold>;
  /** The activated state by concern. */
  readonly does: ReadonlyMap<string, Desired>;
  /** The results of the next calls; later calls succeed. */
  readonly fate: ('works' | 'fails' | 'throws' | 'hangs')[];
  /** Concerns whose execution is degraded. */
  readonly degraded: Set<string>;
  /** Preflight failures by strategy. */
  readonly unrunnable: Map<string, string>;
  readonly views: Map<string, EngineView>;
  /** Calls of `reconcile` so far. */
  readonly calls: number;
  /** Ends the hanging calls successfully. */
  release(): void;
  /** Resolves when this many calls hang. */
  hanging(count: number): Promise<void>;
}

export function createTestRuntime(...fate: TestRuntime['fate']): TestRuntime {
  const does = new Map<string, Desired>();
  const holds = new Map<string, Hold>();
  const degraded = new Set<string>();
  const unrunnable = new Map<string, string>();
  const views = new Map<string, EngineView>();
  let held: (() => void)[] = [];
  let watchers: { readonly count: number; readonly resolve: () => void }[] = [];
  let calls = 0;

  const take = (concern: Concern, strategy: Strategy | undefined): Reconciled => {
    if ((strategy?.id ?? null) !== concern.activeStrategyId) throw new Error('that is not what is active');
    const { activeStrategyId, runState, riskMode } = concern;
    const before = does.get(concern.id);
    does.set(concern.id, { activeStrategyId, runState, riskMode });
    const isSwitch = before !== undefined && before.activeStrategyId !== activeStrategyId;
    return { canceledOrders: 2, ...(isSwitch && { inheritedPosition: '12.5' }) };
  };

  return {
    does,
    holds,
    fate,
    degraded,
    unrunnable,
    views,
    get calls() {
      return calls;
    },
    preflight: ({ id }) => unrunnable.get(id),
    reconcile: (concern, strategy) => {
      calls += 1;
      const next = fate.shift();
      if (next === 'throws') throw new Error('/secret/path: it broke at once');
      if (next === 'fails') return Promise.reject(new Error('/secret/path: it broke'));
      if (next !== 'hangs') return Promise.resolve(take(concern, strategy));
      const { promise, resolve } = Promise.withResolvers<Reconciled>();
      held.push(() => resolve(take(concern, strategy)));
      for (const watcher of watchers) if (held.length >= watcher.count) watcher.resolve();
      return promise;
    },
    health: (id) =>
      degraded.has(id) ? { degraded: true, reasons: ['no bar for 30 s'] } : { degraded: false, reasons: [] },
    setHold: (concernId, holder, hold) => {
      const key = `${concernId} ${holder}`;
      if (hold === undefined) holds.delete(key);
      else holds.set(key, hold);
    },
    view: (id) => views.get(id),
    release: () => {
      for (const end of held) end();
      held = [];
    },
    hanging: (count) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      watchers = [...watchers, { count, resolve }];
      if (held.length >= count) resolve();
      return promise;
    },
  };
}
