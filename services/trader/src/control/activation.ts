import type { Concern, Reconciled, Runtime, Strategy } from '@hermes-fleet/market';
import { FleetError } from '@hermes-fleet/protocol';
import { type Clock, createDeadlines } from '@hermes-fleet/protocol/ports';
import type { ControlStore } from './control-store.ts';
import type { RetryQueue } from './retry-queue.ts';

const DEADLINE_MS = 5000;
/** Unanswered calls of one concern after which no more are made. */
const MAX_HANGING = 10;

export type Activation = ReturnType<typeof createActivation>;

/** Brings the runtime to the control state. */
export function createActivation(options: {
  runtime: Pick<Runtime, 'reconcile'>;
  store: Pick<ControlStore, 'concern' | 'strategy'>;
  retryQueue: RetryQueue;
  clock: Pick<Clock, 'monotonic' | 'timer'>;
}) {
  const behind = new Set<string>();
  const hanging = new Map<string, number>();
  const deadlines = createDeadlines({ clock: options.clock, ms: DEADLINE_MS });
  let isClosed = false;

  const hang = (concernId: string, step: 1 | -1): number => {
    const count = (hanging.get(concernId) ?? 0) + step;
    if (count === 0) hanging.delete(concernId);
    else hanging.set(concernId, count);
    return count;
  };

  const inTime = (concern: Concern, strategy: Strategy | undefined): Promise<Reconciled> => {
    if (isClosed) throw new FleetError('SHUTTING_DOWN', 'the trader is stopping; try again');
    const { promise, resolve, reject } = Promise.withResolvers<Reconciled>();
    let isLate = false;
    const meet = deadlines.start(() => {
      isLate = true;
      hang(concern.id, 1);
      const end = isClosed ? 'before the trader stopped' : `within ${DEADLINE_MS / 1000} s`;
      reject(new FleetError('DEADLINE_EXCEEDED', `the runtime did not apply it ${end}`));
    });
    const ended = (): void => {
      meet();
      if (!isLate) return;
      hang(concern.id, -1);
      if (!isClosed) converge(concern.id);
    };
    const run = async (): Promise<Reconciled> => options.runtime.reconcile(concern, strategy);
    run().then(
      (done) => {
        ended();
        resolve(done);
      },
      (error: unknown) => {
        ended();
        reject(error);
      },
    );
    return promise;
  };

  const activate = async (concern: Concern, strategy: Strategy | undefined): Promise<Reconciled> => {
    try {
      if ((hanging.get(concern.id) ?? 0) >= MAX_HANGING)
        throw new FleetError('DEADLINE_EXCEEDED', 'the runtime no longer answers; restart the trader');
      const done = await inTime(concern, strategy);
      behind.delete(concern.id);
      return done;
    } catch (error) {
      behind.add(concern.id);
      throw error;
    }
  };

  const reconcile = async (concernId: string): Promise<Reconciled> => {
    const concern = options.store.concern(concernId);
    if (concern === undefined) return { canceledOrders: 0 };
    const active =
      concern.activeStrategyId === null ? undefined : options.store.strategy(concern.activeStrategyId);
    return activate(concern, active);
  };

  const converge = (concernId: string): void =>
    options.retryQueue.enqueue(`reconcile ${concernId}`, async () => {
      await reconcile(concernId);
    });

  return {
    /**
     * Rejects if the runtime fails, or with DEADLINE_EXCEEDED if it does not answer in time. A call that ends after its
     * deadline is followed by `converge`, so that its effect does not last.
     */
    activate,
    /** Activates the stored state. */
    reconcile,
    /** Activates the stored state in the background and retries until it succeeds. */
    converge,
    /** True if the last activation failed, so the runtime may differ from the state. */
    isOutOfSync: (concernId: string): boolean => behind.has(concernId),
    /** Ends the deadlines: activations in progress fail now, and later ones at once. */
    close: (): void => {
      isClosed = true;
      deadlines.close();
    },
  };
}
