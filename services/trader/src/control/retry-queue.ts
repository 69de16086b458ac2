import type { Clock, Log } from '@hermes-fleet/protocol/ports';

const RETRY_EVERY_MS = 5000;

interface Entry {
  readonly work: () => Promise<void>;
  trying: Promise<void> | undefined;
}

export type RetryQueue = ReturnType<typeof createRetryQueue>;

/** Runs work at once and then every five seconds until it succeeds. */
export function createRetryQueue(options: { clock: Pick<Clock, 'timer'>; log: Log }) {
  const queued = new Map<string, Entry>();
  let timer: Disposable | undefined;
  let isClosed = false;

  const attempt = async (key: string, entry: Entry): Promise<void> => {
    try {
      await entry.work();
      if (queued.get(key) === entry) queued.delete(key);
    } catch (error) {
      options.log.warn({ err: error, duty: key }, 'queued work failed; it is retried');
      if (!isClosed) timer ??= options.clock.timer(retryAll, RETRY_EVERY_MS);
      throw error;
    } finally {
      entry.trying = undefined;
    }
  };

  const tryNow = (key: string, entry: Entry): Promise<void> => {
    entry.trying ??= attempt(key, entry);
    return entry.trying;
  };

  const retryAll = (): void => {
    timer = undefined;
    // A failure is logged by `attempt` and stays queued.
    for (const [key, entry] of queued) tryNow(key, entry).catch(() => undefined);
  };

  return {
    /** Adds work; it replaces the work with the same key. */
    enqueue: (key: string, work: () => Promise<void>): void => {
      const entry: Entry = { work, trying: undefined };
      queued.set(key, entry);
      tryNow(key, entry).catch(() => undefined);
    },
    /** Joins the current attempt or starts one, and settles as it does; resolves if nothing is queued under the key. */
    runNow: async (key: string): Promise<void> => {
      const entry = queued.get(key);
      if (entry !== undefined) await tryNow(key, entry);
    },
    has: (key: string): boolean => queued.has(key),
    /** Ends the retries: later work runs once. */
    close: (): void => {
      isClosed = true;
      timer?.[Symbol.dispose]();
    },
    /** Number of queued entries. */
    get size() {
      return queued.size;
    },
  };
}
