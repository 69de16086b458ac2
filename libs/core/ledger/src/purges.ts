import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Store } from '@hermes-fleet/store';

/** A purge of a large file blocks long: all purges together take at most one part in so many of the time. */
const SHARE = 20;

export interface PurgesOptions {
  readonly store: Pick<Store, 'rewrite' | 'emptyLog'>;
  readonly clock: Clock;
  /** Called when nothing that was erased until now is left in the files, in the same turn of the event loop. */
  readonly onPurged: () => Promise<void>;
}

/** The purges of a store, at a distance from each other. */
export function createPurges({ store, clock, onPurged }: PurgesOptions) {
  const stopping = new AbortController();
  let next: Promise<void> | undefined;
  let notBefore = 0;
  /** False at first, because an earlier process may have erased something. */
  let isRewritten = false;

  function purgeNow(): void {
    const startedAt = clock.monotonic();
    try {
      if (!isRewritten) {
        // A rewrite grows the log by the size of the file. With a log that cannot be emptied, each try would add to it.
        store.emptyLog();
        store.rewrite();
        isRewritten = true;
      }
      store.emptyLog();
    } finally {
      const endedAt = clock.monotonic();
      notBefore = endedAt + (endedAt - startedAt) * SHARE;
    }
  }

  async function purgeInTurn(): Promise<void> {
    const waitMs = notBefore - clock.monotonic();
    await (waitMs > 0 ? clock.sleep(waitMs, stopping.signal) : undefined);
    stopping.signal.throwIfAborted();
    next = undefined;
    purgeNow();
    await onPurged();
  }

  return {
    /**
     * Resolves when nothing is left in the files of what was erased before this call. Throws the error of the store or of
     * `onPurged`, and SHUTTING_DOWN after `stop`.
     */
    purge(): Promise<void> {
      next ??= purgeInTurn();
      return next;
    },
    /** Must be called after COMMIT of what erases something: the file is rewritten once for all that was erased. */
    erased(): void {
      isRewritten = false;
    },
    stop: (): void => stopping.abort(new FleetError('SHUTTING_DOWN', 'the ledger is closed')),
  };
}
