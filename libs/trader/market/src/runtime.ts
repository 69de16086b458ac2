import { FleetError } from '@hermes-fleet/protocol';
import { type Clock, type Ids, type Log, systemIds } from '@hermes-fleet/protocol/ports';
import { createEngine } from './broker/engine.ts';
import type { DegradedConfig } from './follow/degraded.ts';
import { createFollower, type Follower } from './follow/follower.ts';
import { cannotRun, STRATEGY_KINDS, type StrategyKind } from './strategies/index.ts';
import type { Market } from './terms/market.ts';
import type { EngineStore, Runtime, RuntimeWatcher } from './terms/runtime-port.ts';
import type { Feed } from './terms/strategy.ts';

export interface RuntimeConcern {
  /** `<account>:<market>` */
  readonly id: string;
  readonly market: Market;
  readonly feed: Feed;
  readonly degraded: DegradedConfig;
}

export interface RuntimeOptions {
  readonly store: EngineStore;
  readonly concerns: readonly RuntimeConcern[];
  readonly clock: Clock;
  readonly log: Log;
  readonly watcher: RuntimeWatcher;
  /** Makes order ids. */
  readonly ids?: Ids;
  /** 0 to 1; jitters the backoff of a failing feed. */
  readonly random?: () => number;
  /** Strategy kinds by name. */
  readonly kinds?: Readonly<Record<string, StrategyKind>>;
}

/** `close` waits at most this long for the last snapshots to be durable. */
const CLOSE_MS = 10_000;

export interface TraderRuntime extends Runtime {
  /** For tests: degrades a concern's execution until it is called without a reason. NOT_FOUND for an unknown concern. */
  degrade(concernId: string, reason: string | undefined): void;
}

/**
 * Runs one engine per concern, restored from its snapshot. An engine follows its feed after `start` and its first
 * reconcile, and trades nothing before. A failing feed is retried with backoff. A strategy that fails repeatedly is
 * marked as faulted in the store and enters no more positions (docs/trader.md#degraded). A snapshot that cannot be saved
 * is retried with each bar, and until then the engine enters no position. Throws where a snapshot cannot be read.
 */
export function createRuntime(options: RuntimeOptions): TraderRuntime {
  const {
    store,
    clock,
    log,
    watcher,
    ids = systemIds,
    random = Math.random,
    kinds = STRATEGY_KINDS,
  } = options;
  const followers = new Map<string, Follower>();
  for (const { id, market, feed, degraded } of options.concerns) {
    const { name } = feed;
    const snapshot = store.loadEngine(id);
    const lastEntry = store.lastEntry(id);
    const engine = createEngine({ concernId: id, market, snapshot, lastEntry, feed: name, ids, watcher });
    if (engine.lastBar() === undefined && engine.view().lastBar !== null)
      log.warn(
        { concern_id: id },
        `the feed changed to ${name}: its first bar begins a new history and cancels open orders`,
      );
    const follower = { concernId: id, engine, feed, degraded, store, clock, log, watcher, random, kinds };
    followers.set(id, createFollower(follower));
  }

  function followerOf(concernId: string): Follower {
    const follower = followers.get(concernId);
    if (follower) return follower;
    const message = `there is no engine for concern ${concernId}; list it in trader.yaml`;
    throw new FleetError('NOT_FOUND', message);
  }

  /** The sleep keeps the process alive: a write that joins the store's next transaction waits for a timer that does not. */
  async function close(): Promise<void> {
    const closed = new AbortController();
    const tooLong = clock.sleep(CLOSE_MS, closed.signal).then(
      () =>
        log.error(
          {},
          `an engine's snapshot was not saved within ${CLOSE_MS} ms of the stop and is abandoned`,
        ),
      () => undefined,
    );
    const all = Promise.all([...followers.values()].map((follower) => follower.close()));
    await Promise.race([all, tooLong]);
    closed.abort();
  }

  return {
    preflight: (strategy) =>
      cannotRun(strategy, kinds, (id) =>
        followerOf(`${strategy.accountId}:${strategy.marketSymbol}`).faulted(id),
      ),
    reconcile: async (concern, strategy) => followerOf(concern.id).reconcile(concern, strategy),
    health: (concernId) =>
      followers.get(concernId)?.health() ?? {
        degraded: true,
        reasons: ['there is no engine for this concern'],
      },
    setHold: (concernId, holder, hold) => followerOf(concernId).setHold(holder, hold),
    resetAccount: async (concernId) => followerOf(concernId).resetAccount(),
    view: (concernId) => followers.get(concernId)?.view(),
    degrade: (concernId, reason) => followerOf(concernId).degrade(reason),
    start: (concernIds) => {
      for (const [id, follower] of followers) if (concernIds?.includes(id) ?? true) follower.start();
    },
    close,
  };
}
