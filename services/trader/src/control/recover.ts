import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { Activation } from './activation.ts';
import { withOutcome } from './apply-or-roll-back.ts';
import type { ControlStore, OpenApply } from './control-store.ts';
import type { RetryQueue } from './retry-queue.ts';
import type { HoldMarks, Holds } from './unwritten-restrictions.ts';

const UNSAVED = 'the last state before the start could not be saved; check it, and resume to go on';

/** A start waits at most this long; recovery continues in the background. */
const LONGEST_MS = 30_000;

/**
 * Holds the concerns whose last state could not be saved, activates the stored state, and records the outcomes of decisions
 * that a crash interrupted. Failed parts are retried, and the concern counts as degraded until they succeed.
 */
export function createRecover(options: {
  store: Pick<ControlStore, 'concerns' | 'openApplies' | 'settle' | 'holdConcern'>;
  holds: Pick<Holds, 'takeEffect' | 'awaitWritten'>;
  marks: Pick<HoldMarks, 'found'>;
  activation: Activation;
  retryQueue: RetryQueue;
  clock: Pick<Clock, 'sleep'>;
  log: Log;
}): () => Promise<void> {
  const { holds, marks, log } = options;

  /** Holds a concern that is marked, and writes that into its state before any decision. */
  const holdAsMarked = (concernId: string): void => {
    const riskMode = marks.found(concernId);
    if (riskMode === undefined) return;
    const restriction = { runState: 'paused', riskMode } as const;
    holds.takeEffect(concernId, {
      restriction,
      write: async () => {
        const held = await options.store.holdConcern(concernId, restriction, UNSAVED);
        log.warn({ concern_id: concernId, risk_mode: held.riskMode }, `it comes up paused: ${UNSAVED}`);
      },
    });
  };

  const recoverConcern = async (concernId: string, cutOff: readonly OpenApply[]): Promise<void> => {
    const done = await options.activation.reconcile(concernId);
    await Promise.all(cutOff.map((open) => options.store.settle(open, withOutcome(open.response, done))));
  };
  return async () => {
    // Read once: decisions that are applied later record their own outcome.
    const cutOff = options.store.openApplies();
    const parts = options.store.concerns().flatMap(({ id }) => {
      holdAsMarked(id);
      const key = `recover ${id}`;
      const own = cutOff.filter(({ concernId }) => concernId === id);
      options.retryQueue.enqueue(key, () => recoverConcern(id, own));
      return [options.retryQueue.runNow(key), holds.awaitWritten(id)];
    });
    // The sleep keeps the process alive: a write that joins the next transaction waits for a timer that does not.
    const ended = new AbortController();
    const tooLong = options.clock.sleep(LONGEST_MS, ended.signal).catch(() => undefined);
    await Promise.race([Promise.allSettled(parts), tooLong]);
    ended.abort();
  };
}
