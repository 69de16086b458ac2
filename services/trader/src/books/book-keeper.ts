import { setImmediate } from 'node:timers/promises';
import type { EngineStore } from '@hermes-fleet/market';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { BooksReader, StoredEntry } from '../control/control-store.ts';
import { type Analysis, createAnalysis, type SeenBar } from './analysis.ts';
import { inOrder } from './in-order.ts';

const SLICE = 500;
const RETRY_MS = 5_000;

export type BookKeeper = ReturnType<typeof createBookKeeper>;

/** Follows the books of all concerns, and measures them. */
export function createBookKeeper(options: {
  readonly books: Pick<BooksReader, 'after'>;
  readonly concerns: readonly { readonly id: string; readonly intervalMs: number }[];
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Log;
  /** Called for each bar in order; `isLive` for one that was saved just now. Never throws. */
  readonly onBar: (concernId: string, bar: SeenBar, isLive: boolean) => void;
}) {
  const { books, clock, log } = options;
  const stop = new AbortController();
  const analyses = new Map(options.concerns.map(({ id, intervalMs }) => [id, createAnalysis(intervalMs)]));
  let isRead = false;
  let problem: string | undefined = 'they are being read';
  let reading: Promise<void> | undefined;

  function add(concernId: string, analysis: Analysis, entry: StoredEntry, isLive: boolean): void {
    const bar = analysis.add(entry);
    if (bar !== undefined) options.onBar(concernId, bar, isLive);
  }

  /** Adds a slice; false at the end of the books. */
  function advance(concernId: string, analysis: Analysis): boolean {
    const entries = books.after(concernId, analysis.last(), SLICE);
    for (const entry of entries) add(concernId, analysis, entry, true);
    return entries.length === SLICE;
  }

  /** Adds what is stored in the order of its recording, as it came when it was live: an account adds up its concerns. */
  async function readAll(): Promise<void> {
    let added = 0;
    const read = new Map([...analyses].map(([id, analysis]) => [id, analysis.last()]));
    for (const { concernId, entry } of inOrder(books, read)) {
      const analysis = analyses.get(concernId);
      if (analysis !== undefined) add(concernId, analysis, entry, false);
      added += 1;
      if (added % SLICE !== 0) continue;
      await setImmediate();
      stop.signal.throwIfAborted();
    }
  }

  async function read(onRead: () => void): Promise<void> {
    while (!stop.signal.aborted) {
      try {
        await readAll();
        isRead = true;
        problem = undefined;
        return onRead();
      } catch (err) {
        if (stop.signal.aborted) return;
        problem = `they cannot be read: ${err instanceof Error ? err.message : String(err)}`;
        log.error({ err }, 'the books cannot be read, so no engine starts; it is tried again');
        await clock.sleep(RETRY_MS, stop.signal).catch(() => undefined);
      }
    }
  }

  return {
    /**
     * Reads what is stored, in slices that yield to the event loop, and calls `onRead` at the end. A failure is logged, and
     * reading is tried again after 5 s.
     */
    start: (onRead: () => void): void => {
      reading ??= read(onRead);
    },
    /** Why the books are not read yet, or undefined. */
    problem: (): string | undefined => problem,
    close: async (): Promise<void> => {
      stop.abort(new Error('the trader is stopping'));
      await reading;
    },
    /** Reads the entries of a save. Never throws: what cannot be read is read with the next save. */
    saved: (concernId: string): void => {
      const analysis = analyses.get(concernId);
      if (analysis === undefined || !isRead) return;
      try {
        while (advance(concernId, analysis));
      } catch (err) {
        log.error({ err, concern_id: concernId }, 'the books cannot be read; the next save tries again');
      }
    },
    /** Throws NOT_FOUND for an unknown concern, and STORE_UNAVAILABLE until the stored books are read. */
    analysis: (concernId: string): Analysis => {
      const analysis = analyses.get(concernId);
      if (analysis === undefined) throw new FleetError('NOT_FOUND', `there is no concern ${concernId}`);
      if (isRead) return analysis;
      throw new FleetError('STORE_UNAVAILABLE', 'the books are still being read; try again', {
        retryAfterS: 5,
      });
    },
  };
}

/** The store of engines, which tells the book keeper of each save. */
export const keepingBooks = (store: EngineStore, keeper: Pick<BookKeeper, 'saved'>): EngineStore => ({
  ...store,
  saveEngine: async (concernId, snapshot, entries) => {
    await store.saveEngine(concernId, snapshot, entries);
    keeper.saved(concernId);
  },
});
