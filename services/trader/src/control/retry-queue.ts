import type { Clock, Log } from '@hermes-fleet/protocol';

const RETRY_EVERY_MS = 5000;

/** What is owed until it succeeds: it is tried at once, and then every five seconds. */
export interface RetryQueue {
  /** The same key again takes the place of what was owed under it. */
  owe(key: string, work: () => Promise<void>): void;
  /** Rejects as the try that is under way does, else as a new one; resolves when it is done, or nothing is owed. */
  pay(key: string): Promise<void>;
  /** From now on, everything is tried once. */
  close(): void;
  /** How many are owed. */
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
      o.log.warn({ err: error, duty: key }, 'it could not be done; it is tried again');
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
    // A failure is told by its log line, and stays owed.
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
