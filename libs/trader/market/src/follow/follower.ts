import { isDeepStrictEqual } from 'node:util';
import { backoffMs, FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { Engine } from '../broker/engine.ts';
import type { Desired } from '../broker/reconcile-orders.ts';
import { wasSetBack } from '../feed/pace.ts';
import { createStrategy, type StrategyKind } from '../strategies/index.ts';
import { type Concern, FREE, restrict, type Strategy } from '../terms/concern.ts';
import type {
  EngineStore,
  EngineView,
  Hold,
  Reconciled,
  Runtime,
  RuntimeWatcher,
} from '../terms/runtime-port.ts';
import type { Bar, Feed, TradingStrategy } from '../terms/strategy.ts';
import type { DegradedConfig } from './degraded.ts';
import { createFaults } from './faults.ts';
import { createHealthMonitor } from './health-monitor.ts';
import { createSnapshotWriter } from './snapshot-writer.ts';

interface FollowerOptions {
  readonly concernId: string;
  readonly engine: Engine;
  readonly feed: Feed;
  readonly degraded: DegradedConfig;
  readonly store: Pick<EngineStore, 'saveEngine' | 'setStatus'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly watcher: RuntimeWatcher;
  /** 0 to 1. */
  readonly random: () => number;
  readonly kinds: Readonly<Record<string, StrategyKind>>;
}

export type Follower = ReturnType<typeof createFollower>;

/** The holder of the hold while the engine's state is not on disk. */
const UNSAVED = 'unsaved';
/** The holder of the hold while the balances of the configuration differ from those of the account. */
const BALANCES = 'balances';

const PAUSE = { firstMs: 500, longestMs: 30_000 };

const IDLE: TradingStrategy = { warmupBars: 1, onBar: () => [] };

/** Drives one concern's engine with its feed. Bars and reconciles are synchronous, so they never interleave. */
export function createFollower(options: FollowerOptions) {
  const { concernId, engine, feed, clock, log, store, random } = options;
  const stop = new AbortController();
  const changed = (): void => options.watcher.changed(concernId);
  const save = async (): Promise<void> => {
    const entries = engine.entries();
    const newest = entries.at(-1);
    await store.saveEngine(concernId, engine.snapshot(), entries);
    if (newest !== undefined) engine.booked(newest.n);
  };
  const snapshotWriter = createSnapshotWriter({
    name: `the engine of ${concernId}`,
    save,
    clock,
    log,
    onProblem: (problem) => setHold(UNSAVED, problem === undefined ? undefined : unsaved(problem)),
  });
  /** By who set them. */
  const holds = new Map<string, Hold>();
  const underHolds = <S extends typeof FREE>(state: S): S => holds.values().reduce<S>(restrict, state);
  const faults = createFaults({ concernId, after: options.degraded.faulted_after_errors, store, log });
  const { intervalMs } = feed;
  const trouble = engine.failureCounts;
  const healthMonitor = createHealthMonitor({
    concernId,
    intervalMs,
    failureCounts: trouble,
    clock,
    log,
    config: options.degraded,
    onChange: changed,
  });
  let desired: Desired | undefined;
  /** True if the strategy of `desired` may run by its status. */
  let isEnabled = false;
  let isStarted = false;
  let following: Promise<void> | undefined;

  /** A bar before the last one is taken where the clock was set back, and then the bars before it move. */
  function followClock({ at }: Bar): void {
    const last = engine.lastBar();
    if (last === undefined || at > last.at || !wasSetBack(last, clock.now(), intervalMs)) return;
    log.warn({ concern_id: concernId }, 'the clock was set back: the bars before move to its time');
    engine.moveHistory(at - intervalMs);
  }

  function takeBar(bar: Bar): void {
    followClock(bar);
    const { error } = engine.onBar(bar);
    if (engine.lastBar()?.at !== bar.at) throw error ?? new Error(`the engine took no bar at ${bar.at}`);
    healthMonitor.barReceived();
    const strategy = desired?.strategy;
    if (error === undefined) faults.succeeded();
    // A faulted strategy keeps its position and exits, and places no more entries.
    else if (strategy && faults.failed(strategy.id, error)) configure();
    faults.record();
    snapshotWriter.requestSave();
    healthMonitor.check();
    changed();
  }

  async function follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const bar = await feed.next(engine.lastBar(), signal);
        if (bar === undefined) return healthMonitor.feedEnded();
        if (!signal.aborted) takeBar(bar);
        // The next bar finds the engine on disk, or held.
        await snapshotWriter.idle();
      } catch (err) {
        if (signal.aborted) return;
        await clock
          .sleep(backoffMs(healthMonitor.feedFailed(err), { ...PAUSE, random }), signal)
          .catch(() => undefined);
      }
    }
  }

  /** Waits for the first reconcile: until then a bar could fill orders that must be canceled. */
  function begin(): void {
    if (isStarted && desired !== undefined && !stop.signal.aborted) following ??= follow(stop.signal);
  }

  /** A strategy that may not run and cannot be created becomes idle, so that pauses and lower risk modes still apply. */
  function tradingOf(strategy: Strategy): TradingStrategy {
    try {
      return createStrategy(strategy, options.kinds);
    } catch (err) {
      if (strategy.status === 'enabled') throw err;
      const about = { concern_id: concernId, strategy_id: strategy.id, err };
      log.warn(about, `a strategy that is ${strategy.status} cannot be created; its exits stay unchanged`);
      return IDLE;
    }
  }

  function reconcile(concern: Concern, strategy: Strategy | undefined): Reconciled {
    const { riskMode } = concern;
    const trading = strategy && { id: strategy.id, trading: tradingOf(strategy) };
    const before = { desired, isEnabled };
    desired = { runState: concern.runState, riskMode, rev: concern.rev, strategy: trading };
    isEnabled = strategy?.status === 'enabled';
    let done: Reconciled;
    try {
      done = configure();
    } catch (error) {
      ({ desired, isEnabled } = before);
      throw error;
    }
    begin();
    if (done.canceledOrders > 0 || done.inheritedPosition !== undefined) snapshotWriter.requestSave();
    else snapshotWriter.markDirty();
    healthMonitor.check();
    changed();
    return done;
  }

  /** Brings the engine to the desired state, as far as faults and holds allow it. */
  function configure(): Reconciled {
    if (desired === undefined) return { canceledOrders: 0 };
    const { strategy } = desired;
    const mayEnter = isEnabled && strategy !== undefined && faults.reasonOf(strategy.id) === undefined;
    const runState = mayEnter ? desired.runState : 'paused';
    return engine.configure(underHolds({ ...desired, runState }));
  }

  function setHold(holder: string, held: Hold | undefined): void {
    const before = underHolds(FREE);
    if (held === undefined) holds.delete(holder);
    else holds.set(holder, held);
    if (isDeepStrictEqual(underHolds(FREE), before)) return;
    configure();
    snapshotWriter.markDirty();
    changed();
  }

  async function resetAccount(): Promise<void> {
    engine.resetAccount();
    setHold(BALANCES, undefined);
    snapshotWriter.requestSave();
    await snapshotWriter.idle();
    const problem = snapshotWriter.problem();
    if (problem === undefined) return;
    const message = `the account is reset, but that is not saved yet: ${problem}`;
    throw new FleetError('STORE_UNAVAILABLE', message, { retryAfterS: 5 });
  }

  function health(): ReturnType<Runtime['health']> {
    const reasons = [
      ...healthMonitor.reasons(),
      ...(engine.hasOtherBalances() ? [otherBalances(concernId)] : []),
    ];
    const problem = snapshotWriter.problem();
    return {
      degraded: reasons.length > 0,
      reasons: [...reasons, ...holds.values().map(({ reason }) => reason)],
      ...(problem !== undefined && { unsaved: problem }),
    };
  }

  function view(): EngineView {
    const seen = engine.view();
    const { degraded, reasons } = health();
    return { ...seen, execution: { ...seen.execution, state: degraded ? 'degraded' : 'ok', reasons } };
  }

  if (engine.hasOtherBalances()) {
    const reason = otherBalances(concernId);
    holds.set(BALANCES, { runState: 'paused', reason: 'no entries with other balances than before' });
    log.error({ concern_id: concernId }, reason);
  }

  return {
    reconcile,
    /** Why a strategy was faulted, or undefined. */
    faulted: faults.reasonOf,
    health,
    view,
    setHold,
    resetAccount,
    degrade: healthMonitor.forceDegraded,
    /** Follows the feed after the first reconcile. */
    start: (): void => {
      if (stop.signal.aborted || isStarted) return;
      isStarted = true;
      healthMonitor.start();
      begin();
    },
    close: async (): Promise<void> => {
      stop.abort(new Error('the runtime is closing'));
      healthMonitor.stop();
      await snapshotWriter.close();
      faults.record();
      await faults.idle();
      await following;
    },
  };
}

const otherBalances = (concernId: string): string =>
  `the balances in trader.yaml are not those that the account was opened with: put them back, or run fleet trader account reset --concern ${concernId}`;

const unsaved = (problem: string): Hold => ({
  runState: 'paused',
  reason: `no entries while the engine's snapshot cannot be saved, which is retried: ${problem}`,
});
