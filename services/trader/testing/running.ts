import type { TestContext } from 'node:test';
import type { Bar, Concern, EngineView, Feed, Market, RuntimeWatcher, Strategy } from '@hermes-fleet/market';
import {
  createRuntime,
  DegradedSchema,
  money,
  type RuntimeOptions,
  type TraderRuntime,
} from '@hermes-fleet/market';
import { countingIds, market as roomy } from '@hermes-fleet/market/testing';
import { type Log, systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { type ManualClock, manualClock, recordingLog, tempDir } from '@hermes-fleet/protocol/testing';
import type { ControlStore } from '../src/control/control-store.ts';
import { openControlStore } from '../src/store/sqlite-store.ts';
import { CONCERN, GRID, SHIELD, strategy, TREND } from './store/harness.ts';

export const INTERVAL_MS = 1_000;

const TAME = { centre: '100', levels: 3, spacing_bps: 100, order_share: '0.1' };

/** One strategy of each kind, with parameters that take effect within a few bars. */
export const MEMBERS: readonly Strategy[] = [
  strategy({ params: TAME }),
  strategy({
    id: TREND,
    kind: 'trend_follower',
    params: { fast_bars: 2, slow_bars: 3, atr_bars: 2, entry_bars: 1 },
  }),
  strategy({ id: SHIELD, kind: 'exposure_protector', params: { target_share: '0.3', tolerance: '0.02' } }),
];

/** A feed whose bars come from the test. */
export interface ScriptedFeed extends Feed {
  push(bar: Bar): void;
  /** The next request for a missing bar rejects with this error. */
  fail(error: Error): void;
  end(): void;
}

export function scriptedFeed(): ScriptedFeed {
  const bars: Bar[] = [];
  const errors: Error[] = [];
  let ended = false;
  let wake = Promise.withResolvers<void>();
  const woken = (): void => {
    wake.resolve();
    wake = Promise.withResolvers();
  };
  return {
    intervalMs: INTERVAL_MS,
    next: async (last, signal) => {
      const aborted = new Promise<never>((_, reject) => {
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
      // The abort may come when nobody waits.
      aborted.catch(() => undefined);
      for (;;) {
        const error = errors.shift();
        if (error) throw error;
        const bar = bars.find(({ at }) => last === undefined || at > last.at);
        if (bar || ended) return bar;
        await Promise.race([wake.promise, aborted]);
      }
    },
    push: (bar) => {
      bars.push(bar);
      woken();
    },
    fail: (error) => {
      errors.push(error);
      woken();
    },
    end: () => {
      ended = true;
      woken();
    },
  };
}

export interface Running {
  readonly runtime: TraderRuntime;
  readonly store: ControlStore;
  readonly clock: ManualClock;
  readonly feed: ScriptedFeed;
  readonly log: Log & { readonly messages: string[] };
  /** Concerns that were reported as changed. */
  readonly changes: string[];
  /** Resolves with the next reported change. */
  change(): Promise<void>;
  /** Advances the clock by an interval, feeds a bar with this close and waits until it is processed. */
  bar(close: number, o?: { high?: number; low?: number }): Promise<EngineView>;
  /** Reconciles to the concern with these changes. */
  desire(
    change?: Partial<Concern>,
    of?: Partial<Strategy>,
  ): Promise<{ canceledOrders: number; inheritedPosition?: string }>;
  view(): EngineView;
  /** Closes the runtime and starts another on the same store and feed, reconciled by default. */
  restart(o?: { readonly isReconciled: boolean; readonly market?: Market }): Promise<void>;
}

export interface RunningOptions {
  readonly market?: Market;
  readonly store?: (store: ControlStore) => RuntimeOptions['store'];
  readonly kinds?: RuntimeOptions['kinds'];
  readonly feed?: (clock: ManualClock) => Feed;
  readonly strategies?: readonly Strategy[];
}

/** A started runtime on a real store, with one concern that runs the grid. */
export async function running(t: TestContext, o: RunningOptions = {}): Promise<Running> {
  const clock = manualClock(Date.parse('2026-04-16T20:15:00Z'));
  const log = recordingLog();
  const feed = scriptedFeed();
  const file = `${tempDir(t, {
    closeFirst: async () => {
      await runtime.close();
      await store.close();
    },
  })}/control.db`;
  const store = openControlStore({ file, service: 'trader', clock: systemClock, ids: systemIds, log });
  const strategies = o.strategies ?? MEMBERS;
  await store.seed(strategies, [{ ...CONCERN, activeStrategyId: null }]);
  const changes: string[] = [];
  let changed = Promise.withResolvers<void>();
  const watcher: RuntimeWatcher = {
    order: () => undefined,
    changed: (concernId) => {
      changes.push(concernId);
      changed.resolve();
      changed = Promise.withResolvers();
    },
  };
  const ids = countingIds();
  const make = (market = o.market ?? roomy()): TraderRuntime =>
    createRuntime({
      store: o.store?.(store) ?? store,
      clock,
      log,
      watcher,
      ids,
      random: () => 1,
      ...(o.kinds === undefined ? {} : { kinds: o.kinds }),
      concerns: [
        {
          id: CONCERN.id,
          market,
          feed: o.feed?.(clock) ?? feed,
          degraded: DegradedSchema.parse(undefined),
        },
      ],
    });
  let runtime = make();
  let concern: Concern = { ...CONCERN, rev: 1 };
  const change = (): Promise<void> => changed.promise;
  const view = (): EngineView => runtime.view(CONCERN.id) ?? fail('there is no view');
  const desire: Running['desire'] = (changed = {}, of = {}) => {
    concern = { ...concern, ...changed, rev: concern.rev + 1 };
    return reconcile(of);
  };
  const reconcile = (of: Partial<Strategy> = {}): ReturnType<Running['desire']> => {
    const active = strategies.find(({ id }) => id === concern.activeStrategyId);
    return runtime.reconcile(concern, active && { ...active, ...of });
  };
  await desire();
  runtime.start();
  let lastClose = 100;
  return {
    get runtime() {
      return runtime;
    },
    store,
    clock,
    feed,
    log,
    changes,
    change,
    desire,
    view,
    bar: async (price, { high = 0, low = Number.POSITIVE_INFINITY } = {}) => {
      clock.advance(INTERVAL_MS);
      const at = clock.now();
      const [open, close] = [lastClose, price];
      lastClose = price;
      feed.push({
        at,
        open: money(String(open)),
        close: money(String(close)),
        volume: money('1'),
        high: money(String(Math.max(open, close, high))),
        low: money(String(Math.min(open, close, low))),
      });
      while (view().lastBar?.at !== new Date(at).toISOString()) await change();
      return view();
    },
    restart: async ({ isReconciled, market } = { isReconciled: true }) => {
      await runtime.close();
      runtime = make(market);
      if (isReconciled) await reconcile();
      runtime.start();
    },
  };
}

function fail(message: string): never {
  throw new Error(message);
}

export { CONCERN, GRID, SHIELD, TREND };
