import type { Clock, Log } from '@hermes-fleet/protocol';
import type { Activation } from './activation.ts';
import { withOutcome } from './apply.ts';
import type { ControlStore, OpenApply } from './control-store.ts';
import { EARLIER, type HoldMarks } from './hold-marks.ts';
import type { Holds } from './holds.ts';
import type { RetryQueue } from './retry-queue.ts';

const UNSAVED = 'the last state before the start could not be saved; check it, and resume to go on';

/** A start waits at most this long; recovery continues in the background. */
const LONGEST_MS = 30_000;

/**
 * Holds the concerns whose last state could not be saved, activates the stored state and records the outcomes of decisions that a crash interrupted. Failed parts are retried, and
 * the concern counts as degraded until they succeed.
 */
export function createRecover(options: {
  store: Pick<ControlStore, 'concerns' | 'openApplies' | 'settle' | 'hold'>;
  holds: Pick<Holds, 'take' | 'awaitWritten'>;
  marks: Pick<HoldMarks, 'found' | 'clear'>;
  activation: Activation;
  retryQueue: RetryQueue;
  clock: Pick<Clock, 'sleep'>;
  log: Log;
}): () => Promise<void> {
  const { holds, marks, log } = options;

  /** Puts what the marks say into effect, and writes it into the state of the concern before any decision of it. */
  const holdAsMarked = (concernId: string): void => {
    const mode = marks.found(concernId);
    if (mode === undefined) return;
    const riskMode = mode === 'paused' ? 'normal' : mode;
    holds.take(concernId, {
      taken: { runState: 'paused', riskMode },
      write: async () => {
        const held = await options.store.hold(concernId, { runState: 'paused', riskMode }, UNSAVED);
        await options.activation.reconcile(concernId);
        marks.clear(concernId, EARLIER);
        log.warn({ concern_id: concernId, risk_mode: held.riskMode }, `it comes up paused: ${UNSAVED}`);
      },
    });
  };

  const recoverConcern = async (concernId: string, cutOff: readonly OpenApply[]): Promise<void> => {
    // A hold that cannot be written yet stays in effect, so the engine can go on under it.
    await holds.awaitWritten(concernId)?.catch(() => undefined);
    const done = await options.activation.reconcile(concernId);
    await Promise.all(cutOff.map((open) => options.store.settle(open, withOutcome(open.response, done))));
  };
  return async () => {
    // Read once: decisions that are applied later record their own outcome.
    const cutOff = options.store.openApplies();
    const keys = options.store.concerns().map(({ id }) => {
      holdAsMarked(id);
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
