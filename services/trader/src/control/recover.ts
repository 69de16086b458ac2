import type { Clock } from '@hermes-fleet/protocol';
import type { Activation } from './activation.ts';
import { withOutcome } from './apply.ts';
import type { ControlStore, OpenApply } from './control-store.ts';
import type { RetryQueue } from './retry-queue.ts';

/** How long a start waits for it. */
const LONGEST_MS = 30_000;

/**
 * Has the runtime do what is stored, and records the outcome of what a crash cut off (design 4, Crash safety). What
 * can't be done now is owed, and the concern counts as degraded until it is.
 */
export function createRecover(o: {
  store: Pick<ControlStore, 'concerns' | 'openApplies' | 'settle'>;
  activation: Activation;
  duties: RetryQueue;
  clock: Pick<Clock, 'sleep'>;
}): () => Promise<void> {
  const recoverConcern = async (concernId: string, cutOff: readonly OpenApply[]): Promise<void> => {
    const done = await o.activation.reconcile(concernId);
    await Promise.all(cutOff.map((open) => o.store.settle(open, withOutcome(open.response, done))));
  };
  return async () => {
    // As it is now: what is applied later has its own outcome.
    const cutOff = o.store.openApplies();
    const keys = o.store.concerns().map(({ id }) => {
      const key = `recover ${id}`;
      const own = cutOff.filter(({ concernId }) => concernId === id);
      o.duties.owe(key, () => recoverConcern(id, own));
      return key;
    });
    // A sleep keeps the process alive: at a start nothing else may, and what joins the next transaction waits for a timer.
    const ended = new AbortController();
    const tooLong = o.clock.sleep(LONGEST_MS, ended.signal).catch(() => undefined);
    await Promise.race([Promise.allSettled(keys.map((key) => o.duties.pay(key))), tooLong]);
    ended.abort();
  };
}
