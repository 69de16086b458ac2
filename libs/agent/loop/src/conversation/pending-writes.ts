/**
 * The writes of a conversation that are in progress. Writes that start in one turn of the event loop share a commit, so
 * a step waits for the disk only before an action that must not precede what it wrote.
 */
export interface PendingWrites {
  /** Tracks started writes, without waiting for them. */
  add(...writes: readonly Promise<unknown>[]): void;
  /** Waits until all tracked writes have ended; then throws the error of the first one that failed. */
  durable(): Promise<void>;
}

export function createPendingWrites(): PendingWrites {
  let pending: Promise<unknown>[] = [];
  return {
    add(...writes) {
      // `durable` reports the error.
      for (const write of writes) write.catch(() => {});
      pending.push(...writes);
    },
    async durable() {
      const waiting = pending;
      pending = [];
      const failed = (await Promise.allSettled(waiting)).find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected') throw failed.reason;
    },
  };
}
