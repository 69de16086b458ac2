import type { Concern, Reconciled, Runtime, Strategy } from '@hermes-fleet/paper';
import { type Clock, FleetError } from '@hermes-fleet/protocol';
import type { ControlStore } from './control-store.ts';
import type { RetryQueue } from './retry-queue.ts';

const DEADLINE_MS = 5000;
/** Calls of one concern that never came back; more are not made. */
const MAX_HANGING = 10;

/** Has the runtime do what the state says. */
export interface Activation {
  /**
   * Rejects when the runtime could not, or not in time: DEADLINE_EXCEEDED. What ends after its deadline is followed by
   * `converge`, so that it does not stay.
   */
  activate(concern: Concern, strategy: Strategy | undefined): Promise<Reconciled>;
  /** As `activate`, to what is stored. */
  reconcile(concernId: string): Promise<Reconciled>;
  /** Owes it that the runtime does what is stored. */
  converge(concernId: string): void;
  /** Whether the runtime does not do what it was last told to. */
  isBehind(concernId: string): boolean;
}

export function createActivation(o: {
  runtime: Pick<Runtime, 'reconcile'>;
  store: Pick<ControlStore, 'concern' | 'strategy'>;
  duties: RetryQueue;
  clock: Pick<Clock, 'timer'>;
}): Activation {
  const behind = new Set<string>();
  const hanging = new Map<string, number>();

  const hang = (concernId: string, step: 1 | -1): number => {
    const count = (hanging.get(concernId) ?? 0) + step;
    if (count === 0) hanging.delete(concernId);
    else hanging.set(concernId, count);
    return count;
  };

  const inTime = (concern: Concern, strategy: Strategy | undefined): Promise<Reconciled> => {
    const { promise, resolve, reject } = Promise.withResolvers<Reconciled>();
    let isLate = false;
    const timer = o.clock.timer(() => {
      isLate = true;
      hang(concern.id, 1);
      const message = `the runtime did not take it within ${DEADLINE_MS / 1000} s`;
      reject(new FleetError('DEADLINE_EXCEEDED', message));
    }, DEADLINE_MS);
    const ended = (): void => {
      timer[Symbol.dispose]();
      if (!isLate) return;
      hang(concern.id, -1);
      converge(concern.id);
    };
    const run = async (): Promise<Reconciled> => o.runtime.reconcile(concern, strategy);
    run().then(resolve, reject).finally(ended);
    return promise;
  };

  const activate = async (concern: Concern, strategy: Strategy | undefined): Promise<Reconciled> => {
    try {
      if ((hanging.get(concern.id) ?? 0) >= MAX_HANGING)
        throw new FleetError('DEADLINE_EXCEEDED', 'the runtime does not answer any more; restart the trader');
      const done = await inTime(concern, strategy);
      behind.delete(concern.id);
      return done;
    } catch (error) {
      behind.add(concern.id);
      throw error;
    }
  };

  const reconcile = async (concernId: string): Promise<Reconciled> => {
    const concern = o.store.concern(concernId);
    if (concern === undefined) return { canceledOrders: 0 };
    const active = concern.activeStrategyId === null ? undefined : o.store.strategy(concern.activeStrategyId);
    return activate(concern, active);
  };

  const converge = (concernId: string): void =>
    o.duties.owe(`reconcile ${concernId}`, async () => {
      await reconcile(concernId);
    });

  return { activate, reconcile, converge, isBehind: (concernId) => behind.has(concernId) };
}
