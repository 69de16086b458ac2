import type { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { TaskQueue } from '@hermes-fleet/tasks';

/** The last part of the grace period, ms, in which runs without a checkpoint are told to end. */
const LAST_CALL_MS = 2_000;

export interface GracefulStopOptions {
  readonly own: TaskQueue;
  readonly relayed: TaskQueue;
  readonly dispatcher: { idle(): Promise<unknown> };
  readonly contexts: { stop(): Promise<unknown> };
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Lets running tasks reach a checkpoint and then ends the remaining ones. Resolves when all have stopped or `graceMs` has
 * passed. Relayed tasks are released at once, because their peers continue.
 */
export async function stopGracefully(
  { own, relayed, dispatcher, contexts, clock, log }: GracefulStopOptions,
  reason: FleetError,
  graceMs: number,
): Promise<void> {
  const patience = new AbortController();
  using _lastCall = clock.timer(() => patience.abort(reason), Math.max(graceMs - LAST_CALL_MS, graceMs / 2));
  const stopped = Promise.all([
    own.stop(reason, patience.signal),
    relayed.stop(reason, AbortSignal.abort(reason)),
    dispatcher.idle(),
    contexts.stop(),
  ]);
  const grace = new AbortController();
  const timedOut = clock.sleep(graceMs, grace.signal).then(
    () =>
      log.warn(
        { active: own.running + relayed.running },
        'the grace period is over: running tasks are left as they are',
      ),
    () => undefined,
  );
  await Promise.race([stopped, timedOut]);
  grace.abort();
}
