import type { Clock } from '@hermes-fleet/protocol';
import type { Activation } from './activation.ts';
import { withOutcome } from './apply.ts';
import type { ControlStore, OpenApply } from './control-store.ts';
import type { RetryQueue } from './retry-queue.ts';

/** A start waits at most this long; recovery continues in the background. */
const LONGEST_MS = 30_000;

/**
 * Activates the stored state and records the outcomes of decisions that a crash interrupted. Failed parts are retried, and
 * the concern counts as degraded until they succeed.
 */
export function createRecover(options: {
  store: Pick<ControlStore, 'concerns' | 'openApplies' | 'settle'>;
  activation: Activation;
  retryQueue: RetryQueue;
  clock: Pick<Clock, 'sleep'>;
}): () => Promise<void> {
  const recoverConcern = async (concernId: string, cutOff: readonly OpenApply[]): Promise<void> => {
    const done = await options.activation.reconcile(concernId);
    await Promise.all(cutOff.map((open) => options.store.settle(open, withOutcome(open.response, done))));
  };
  return async () => {
    // Read once: decisions that are applied later record their own outcome.
    const cutOff = options.store.openApplies();
    const keys = options.store.concerns().map(({ id }) => {
      const key = `recover ${id}`;
      const own = cutOff.filter(({ concernId }) => concernId === id);
      options.retryQueue.enqueue(key, () => recoverConcern(id, own));
      return key;
    });
    // The sleep keeps the process alive: a write that joins the next transaction waits for a timer that does not.
    const ended = new AbortController();
    const tooLong = options.clock.sleep(LONGEST_MS, ended.signal).catch(() => undefined);
    await Promise.race([Promise.allSettled(keys.map((key) => options.retryQueue.runNow(key))), tooLong]);
    ended.abort();
  };
}
