import { type Clock, FleetError } from '@hermes-fleet/protocol';
import type { Store } from '@hermes-fleet/store';

/** A purge of a large file blocks long: all purges together take at most one part in so many of the time. */
const SHARE = 20;

/** The purges of a store, at a distance from each other. */
export interface Purges {
  /** Resolves when a purge that began after this call is done. Throws its error, and SHUTTING_DOWN after `stop`. */
  purge(): Promise<void>;
  stop(): void;
}

export function createPurges(store: Pick<Store, 'purge'>, clock: Clock): Purges {
  const stopping = new AbortController();
  let next: Promise<void> | undefined;
  let notBefore = 0;

  async function purgeInTurn(): Promise<void> {
    const waitMs = notBefore - clock.monotonic();
    await (waitMs > 0 ? clock.sleep(waitMs, stopping.signal) : undefined);
    stopping.signal.throwIfAborted();
    next = undefined;
    const startedAt = clock.monotonic();
    try {
      store.purge();
    } finally {
      const endedAt = clock.monotonic();
      notBefore = endedAt + (endedAt - startedAt) * SHARE;
    }
  }

  return {
    purge() {
      next ??= purgeInTurn();
      return next;
    },
    stop: () => stopping.abort(new FleetError('SHUTTING_DOWN', 'the ledger is closed')),
  };
}
