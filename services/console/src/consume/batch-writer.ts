import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { Queries, Store } from '@hermes-fleet/store';

export interface BatchWriterOptions<T, R> {
  readonly store: Pick<Store, 'write'>;
  /** Writes one item. Runs in a transaction, perhaps again. */
  readonly apply: (db: Queries, item: T) => R | undefined;
  /** Called in the transaction after the items of a batch. */
  readonly finish: (db: Queries, batch: readonly T[]) => void;
  /** Called in place of `apply` for an item that cannot be written, whatever it holds. */
  readonly refuse: (db: Queries, item: T) => R;
  /** Called after COMMIT with what was applied. */
  readonly onCommitted: (results: readonly R[], batch: readonly T[]) => void;
  readonly clock: Clock;
  readonly log: Log;
}

export interface BatchWriter<T> {
  /** Queues an item; resolves when there is room for the next one. */
  push(item: T): Promise<void> | void;
  /** Resolves when all queued items are written. */
  idle(): Promise<void>;
  /** Drops what is queued and writes nothing more: its position is not stored either. */
  close(): Promise<void>;
}

/** Bounds how long one transaction holds up the views. */
const MAX_BATCH = 200;
const MAX_QUEUED = 2_000;
const RETRY_MS = 1_000;

/**
 * Writes items in their order, many in one transaction: all that arrived while the last one was written. A store that fails
 * is tried again until it works, which holds up the readers. An item that makes its transaction fail is refused alone, so
 * that it stops nothing.
 */
export function createBatchWriter<T, R>(options: BatchWriterOptions<T, R>): BatchWriter<T> {
  const { store, clock, log } = options;
  const queue: T[] = [];
  const closing = new AbortController();
  let room: PromiseWithResolvers<void> | undefined;
  let running: Promise<void> | undefined;

  const transaction = async (batch: readonly T[], apply: (db: Queries, item: T) => R | undefined) => {
    const results = await store.write((db) => {
      const made = batch.map((item) => apply(db, item)).filter((result) => result !== undefined);
      options.finish(db, batch);
      return made;
    });
    options.onCommitted(results, batch);
  };

  /** Writes the next items, and returns how many are done; 0 to try again, one by one. Throws while the store is away. */
  const writeNext = async (batch: readonly T[]): Promise<number> => {
    try {
      await transaction(batch, options.apply);
    } catch (error) {
      if (isUnavailable(error)) throw error;
      const [only] = batch;
      if (batch.length > 1 || only === undefined) return 0;
      log.error({ err: error }, 'an event could not be projected: it is skipped');
      await transaction([only], options.refuse);
    }
    return batch.length;
  };

  const run = async (): Promise<void> => {
    let alone = 0;
    while (queue.length > 0 && !closing.signal.aborted) {
      const batch = queue.slice(0, alone > 0 ? 1 : MAX_BATCH);
      try {
        const done = await writeNext(batch);
        queue.splice(0, done);
        alone = done === 0 ? batch.length : Math.max(0, alone - done);
      } catch (error) {
        log.warn({ err: error }, 'the read model cannot be written: trying again');
        await clock.sleep(RETRY_MS, closing.signal).catch(() => undefined);
      }
      room?.resolve();
      room = undefined;
    }
    running = undefined;
  };

  return {
    push(item) {
      if (closing.signal.aborted) return;
      queue.push(item);
      running ??= Promise.resolve().then(run);
      if (queue.length < MAX_QUEUED) return;
      room ??= Promise.withResolvers();
      return room.promise;
    },
    idle: async () => {
      while (running) await running;
    },
    async close() {
      closing.abort();
      queue.length = 0;
      room?.resolve();
      await running;
    },
  };
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof FleetError && (error.code === 'STORE_UNAVAILABLE' || error.code === 'SHUTTING_DOWN');
