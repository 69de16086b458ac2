import type { Concern } from '@hermes-fleet/market';
import type { Clock, Ids, Log } from '@hermes-fleet/protocol/ports';
import type { SeenBar } from '../books/analysis.ts';
import type { AccountLimits, ConcernLimits } from '../config/breaker-schema.ts';
import { BREAKER, BREAKER_CALLER } from '../control/access.ts';
import type { ControlStore } from '../control/control-store.ts';
import type { DecisionService } from '../control/decision-service.ts';
import { decisionOf, type Exceeded, exceededBy, isRestricted } from './limits.ts';
import { createTracker, type Tracker } from './track.ts';

const STALE_CHECKS_MS = 1_000;
/** Time to the next decision when one was not applied, or when a stale price was accepted by a decision. */
const AGAIN_MS = 30_000;

/** Limits whose excess restricts concerns, and the concerns that they are of. */
interface Scope {
  readonly limits: ConcernLimits;
  readonly concernIds: readonly string[];
  readonly tracker: Tracker;
}

export type Breakers = ReturnType<typeof createBreakers>;

/**
 * The circuit breakers (docs/trader.md#circuit-breakers). They decide through the decision service, as any caller does, when
 * a limit is exceeded and the concern is less restricted than the breaker demands.
 */
export function createBreakers(options: {
  readonly concerns: readonly {
    readonly id: string;
    readonly accountId: string;
    readonly breakers: ConcernLimits;
  }[];
  /** By account. */
  readonly accounts: Readonly<Record<string, AccountLimits>>;
  readonly store: Pick<ControlStore, 'concern' | 'decisionInForce' | 'callerOfDecision' | 'hasDecided'>;
  readonly decide: DecisionService['decide'];
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  readonly ids: Ids;
  readonly log: Log;
  /** True while the bars of a concern cannot be saved. The trader does not see them then, and its engine enters nothing. */
  readonly isUnsaved: (concernId: string) => boolean;
  readonly onTrip: (concernId: string, breaker: Exceeded['breaker']) => void;
}) {
  const { store, clock, log } = options;
  const scopes: Scope[] = [
    ...options.concerns.map(({ id, breakers }) => ({
      limits: breakers,
      concernIds: [id],
      tracker: createTracker('concern'),
    })),
    ...Object.entries(options.accounts).map(([account, limits]) => ({
      limits,
      concernIds: options.concerns.filter(({ accountId }) => accountId === account).map(({ id }) => id),
      tracker: createTracker('account'),
    })),
  ];
  /** The decision of the last bar of each concern. */
  const seen = new Map<string, string | null>();
  const lastBarAt = new Map<string, number>();
  /** When a stale price may trip a breaker again. */
  const staleUntil = new Map<string, number>();
  /** When a decision that was not applied is made again. */
  const notBefore = new Map<string, number>();
  const running = new Map<string, Promise<void>>();
  let timer: Disposable | undefined;
  let isClosed = false;

  /** True at the first bar under a decision that took over from that of a breaker. */
  function takesOver(concernId: string, { decisionId }: SeenBar): boolean {
    const since = seen.get(concernId) ?? null;
    seen.set(concernId, decisionId);
    if (decisionId === null || decisionId === since || store.callerOfDecision(decisionId) === BREAKER)
      return false;
    return store.hasDecided(BREAKER, concernId, { since, until: decisionId });
  }

  /** One decision of a concern at a time: while it is in progress, the same limit is exceeded still. */
  function trip(concernId: string, exceeded: Exceeded): void {
    if (isClosed || running.has(concernId) || clock.monotonic() < (notBefore.get(concernId) ?? 0)) return;
    const concern = store.concern(concernId);
    if (concern === undefined || isRestricted(concern, exceeded.action)) return;
    const done = decideOn(concern, exceeded).finally(() => running.delete(concernId));
    running.set(concernId, done);
  }

  async function decideOn(concern: Concern, exceeded: Exceeded): Promise<void> {
    const { breaker, reason } = exceeded;
    const decisionId = `breaker:${concern.id}:${breaker}:${options.ids.uuid()}`;
    const text = JSON.stringify(decisionOf(concern, exceeded, decisionId));
    const { response } = await options.decide({ transport: 'internal', caller: BREAKER_CALLER, text });
    const about = { concern_id: concern.id, breaker, decision_id: decisionId, status: response.status };
    if (response.status === 'applied') {
      options.onTrip(concern.id, breaker);
      log.warn(about, `a circuit breaker tripped: ${reason}`);
      return;
    }
    // Another decision had restricted the concern as much.
    if (response.status === 'noop') return;
    notBefore.set(concern.id, clock.monotonic() + AGAIN_MS);
    const effect = response.result.effect === 'held' ? 'in effect, but not written' : 'not applied';
    log.error(about, `a circuit breaker tripped, and its decision is ${effect}: ${reason}`);
  }

  /** A bar that began before the latest decision says nothing about what that decision led to. */
  const isCurrent = (concernId: string): boolean =>
    (seen.get(concernId) ?? null) === (store.decisionInForce(concernId) ?? null);

  function checkStale(): void {
    const now = clock.monotonic();
    for (const { id, breakers } of options.concerns) {
      const { stale_price: limit } = breakers;
      const age = now - (lastBarAt.get(id) ?? now);
      const isStale = limit !== undefined && age > limit.after_s * 1_000 && !options.isUnsaved(id);
      if (!isStale || now < (staleUntil.get(id) ?? now)) continue;
      staleUntil.set(id, now + AGAIN_MS);
      const reason = `no bar came for ${Math.round(age / 1_000)} s, longer than ${limit.after_s} s`;
      trip(id, { breaker: 'stale_price', action: limit.action, reason });
    }
    timer = clock.timer(() => quietly(checkStale), STALE_CHECKS_MS);
  }

  function quietly(work: () => void): void {
    try {
      work();
    } catch (err) {
      log.error({ err }, 'circuit breakers could not be checked; the next bar tries again');
    }
  }

  return {
    /** Takes a bar of the books; only one that was saved just now (`isLive`) can trip a breaker. Never throws. */
    bar: (concernId: string, bar: SeenBar, isLive: boolean): void =>
      quietly(() => {
        lastBarAt.set(concernId, clock.monotonic());
        staleUntil.delete(concernId);
        const isTakenOver = takesOver(concernId, bar);
        const own = scopes.filter(({ concernIds }) => concernIds.includes(concernId));
        for (const { tracker } of own) tracker.add(concernId, bar, isTakenOver);
        if (!isLive) return;
        for (const { limits, concernIds, tracker } of own)
          for (const exceeded of exceededBy(limits, tracker.measures()))
            for (const id of concernIds) if (isCurrent(id)) trip(id, exceeded);
      }),
    /** Watches for stale prices. Called when the engines start. */
    start: (): void => {
      const now = clock.monotonic();
      for (const { id } of options.concerns) lastBarAt.set(id, now);
      if (options.concerns.some(({ breakers }) => breakers.stale_price)) checkStale();
    },
    /** Waits for the decisions in progress. */
    close: async (): Promise<void> => {
      isClosed = true;
      timer?.[Symbol.dispose]();
      await Promise.all(running.values());
    },
  };
}
