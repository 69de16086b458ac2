import type { Clock, Log } from '@hermes-fleet/protocol';

const RETRY_EVERY_MS = 5000;

/** Runs work at once and then every five seconds until it succeeds. */
export interface RetryQueue {
  /** Adds work; it replaces the work with the same key. */
  owe(key: string, work: () => Promise<void>): void;
  /** Joins the current attempt or starts one, and settles as it does; resolves if nothing is queued under the key. */
  pay(key: string): Promise<void>;
  /** Ends the retries: later work runs once. */
  close(): void;
  /** Number of queued entries. */
  readonly size: number;
}

interface Retry {
  readonly work: () => Promise<void>;
  trying: Promise<void> | undefined;
}

export function createRetryQueue(o: { clock: Pick<Clock, 'timer'>; log: Log }): RetryQueue {
  const owed = new Map<string, Retry>();
  let timer: Disposable | undefined;
  let isClosed = false;

  const attempt = async (key: string, duty: Retry): Promise<void> => {
    try {
      await duty.work();
      if (owed.get(key) === duty) owed.delete(key);
    } catch (error) {
      o.log.warn({ err: error, duty: key }, 'queued work failed; it is retried');
      if (!isClosed) timer ??= o.clock.timer(retryAll, RETRY_EVERY_MS);
      throw error;
    } finally {
      duty.trying = undefined;
    }
  };

  const tryNow = (key: string, duty: Retry): Promise<void> => {
    duty.trying ??= attempt(key, duty);
    return duty.trying;
  };

  const retryAll = (): void => {
    timer = undefined;
    // A failure is logged by `attempt` and stays queued.
    for (const [key, duty] of owed) tryNow(key, duty).catch(() => undefined);
  };

  return {
    owe: (key, work) => {
      const duty: Retry = { work, trying: undefined };
      owed.set(key, duty);
      tryNow(key, duty).catch(() => undefined);
    },
    pay: async (key) => {
      const duty = owed.get(key);
      if (duty !== undefined) await tryNow(key, duty);
    },
    close: () => {
      isClosed = true;
      timer?.[Symbol.dispose]();
    },
    get size() {
      return owed.size;
    },
  };
}
