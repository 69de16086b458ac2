import { backoffMs, FleetError } from '@hermes-fleet/protocol';
import { type Clock, type Log, raceSignal } from '@hermes-fleet/protocol/ports';

const PAUSE = { firstMs: 100, longestMs: 5_000, random: Math.random };

export interface PersistOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Fields of the log lines that name the task. */
  readonly fields: object;
  /** The signal that stops the retries. It is asked for when a write has failed. */
  readonly signal: () => AbortSignal;
}

/** Runs a write with retries until `signal` aborts (default: the signal of the options), and resolves with its value. */
export type Persist = <T>(write: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

interface Pause {
  readonly over: Promise<void>;
  readonly end: () => void;
}

/**
 * Retries writes while the store is unavailable (a full disk, a busy file), until they succeed or `signal` aborts. Then,
 * for a damaged store, and for every other failure, it throws the error of the store. Waiting writes are retried together,
 * in the order of their calls, also at the abort of one of them.
 */
export function createPersist(options: PersistOptions): Persist {
  let failures = 0;
  let pause: Pause | undefined;

  function backOff(error: FleetError): Pause {
    failures += 1;
    options.log.warn({ ...options.fields, err: error, failures }, 'ledger not writable: retrying');
    const ending = new AbortController();
    const slept = options.clock.sleep(backoffMs(failures, PAUSE), ending.signal).catch(() => undefined);
    const over = slept.then(() => {
      pause = undefined;
    });
    return { over, end: () => ending.abort() };
  }

  return async (write, until) => {
    for (;;) {
      // Without a pause the write starts in this turn, so that the writes of one turn share a commit, in order.
      if (pause) await endedByAbort(pause, until ?? options.signal());
      try {
        const written = await write();
        failures = 0;
        return written;
      } catch (error) {
        if (!(error instanceof FleetError) || error.code !== 'STORE_UNAVAILABLE' || !error.retryable)
          throw error;
        const signal = until ?? options.signal();
        if (signal.aborted) throw error;
        pause ??= backOff(error);
      }
    }
  };
}

/** Waits for the end of a pause, and ends it for all that wait when the signal aborts. */
async function endedByAbort({ over, end }: Pause, signal: AbortSignal): Promise<void> {
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  await over;
  signal.removeEventListener('abort', end);
}

/**
 * Begins a write in this turn, so that it shares the commit of an earlier one; once that one is stored, it is tried again
 * with `persist` if it has failed. `earlier` resolves with false if the earlier write was not stored: then the result
 * is undefined, and nothing is tried again. Rejects as `earlier` does.
 */
export async function persistAfter<T>(
  persist: Persist,
  earlier: Promise<boolean>,
  write: () => Promise<T>,
  signal?: AbortSignal,
): Promise<{ readonly value: T } | undefined> {
  let written: { readonly value: T } | undefined;
  let isTried = false;
  const trying = write().then(
    (value) => {
      written = { value };
      isTried = true;
    },
    () => {
      isTried = true;
    },
  );
  if (!(await earlier)) return undefined;
  // Without a turn of its own where the attempt is over, so that writes are tried again in the order of their calls.
  if (!isTried) await trying;
  return written ?? { value: await persist(write, signal) };
}

/** The first write of a task, on which its others depend. */
export interface FirstWrite {
  /** False if the task is not stored, or has ended. */
  readonly stored: Promise<boolean>;
  /** True until its first attempt is over: later writes of the same turn share its commit. */
  readonly isTrying: () => boolean;
  /** The signal at whose abort writes without a signal of their own wait for the first one no longer. */
  readonly signal: () => AbortSignal;
}

/**
 * Returns `persist` for the writes that follow the first one. They reject with INTERNAL if that one is not stored, and with
 * the reason of an abort that comes before it is known.
 */
export function createPersistBehind(persist: Persist, { stored, isTrying, signal }: FirstWrite): Persist {
  let isStored = false;
  stored.then(
    (value) => {
      isStored = value;
    },
    () => undefined,
  );
  async function behind<T>(write: () => Promise<T>, until?: AbortSignal): Promise<T> {
    const earlier = until ? stored : raceSignal(stored, signal());
    if (isTrying()) {
      const written = await persistAfter(persist, earlier, write, until);
      if (written) return written.value;
    } else if (await earlier) return await persist(write, until);
    throw new FleetError('INTERNAL', 'the task is not stored, or has ended: nothing is written for it');
  }
  return (write, until) => (isStored ? persist(write, until) : behind(write, until));
}

/** Whether a task that this process accepts is stored. */
export interface Acceptance {
  /** Undefined until it is decided. */
  readonly isStored: boolean | undefined;
  /** Never rejects. */
  readonly decided: Promise<boolean>;
}

/** The acceptance of a task whose write tells whether it stored the task; it is not stored if the write fails. */
export function acceptanceOf(write: Promise<{ readonly created: boolean }>): Acceptance {
  const decide = (isStored: boolean): boolean => {
    acceptance.isStored = isStored;
    return isStored;
  };
  const acceptance = {
    isStored: undefined as boolean | undefined,
    decided: write.then(
      ({ created }) => decide(created),
      () => decide(false),
    ),
  };
  return acceptance;
}
