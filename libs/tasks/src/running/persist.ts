import { backoffMs, type Clock, FleetError, type Log } from '@hermes-fleet/protocol';

const PAUSE = { firstMs: 100, longestMs: 5_000, random: Math.random };

export interface PersistOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly taskId: string;
  /** Ends the attempts. */
  readonly signal: AbortSignal;
}

/** Resolves with what the write resolves with. */
export type Persist = <T>(write: () => Promise<T>) => Promise<T>;

/**
 * Writes what must not get lost, again and again while the store is unavailable (a full disk, a busy file), until it
 * succeeds or `signal` aborts; then, and for any other failure, it throws what the store threw. Writes that wait are
 * tried again together and in the order in which they were asked for.
 */
export function createPersist(options: PersistOptions): Persist {
  let failures = 0;
  let pause: Promise<void> | undefined;

  async function backOff(error: FleetError): Promise<void> {
    failures += 1;
    options.log.warn({ task_id: options.taskId, err: error, failures }, 'ledger not writable: trying again');
    await options.clock.sleep(backoffMs(failures, PAUSE), options.signal).catch(() => undefined);
    pause = undefined;
  }

  return async (write) => {
    for (;;) {
      // Without a pause at once: what is asked for in one turn shares a commit, in the order of asking.
      if (pause) await pause;
      try {
        const written = await write();
        failures = 0;
        return written;
      } catch (error) {
        if (!(error instanceof FleetError) || error.code !== 'STORE_UNAVAILABLE' || options.signal.aborted)
          throw error;
        pause ??= backOff(error);
      }
    }
  };
}

/** A write alone that must not get lost, as by `createPersist`. */
export const persist = <T>(options: PersistOptions, write: () => Promise<T>): Promise<T> =>
  createPersist(options)(write);
