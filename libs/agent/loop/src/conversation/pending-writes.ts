/** Writes in progress: a step waits for the disk only before an action that must not precede what it wrote. */
export type PendingWrites = ReturnType<typeof createPendingWrites>;

export function createPendingWrites() {
  let pending: Promise<unknown>[] = [];
  return {
    /** Tracks started writes, without waiting for them. */
    add(...writes: readonly Promise<unknown>[]): void {
      // `durable` reports the error.
      for (const write of writes) write.catch(() => {});
      pending.push(...writes);
    },
    /** Waits until all tracked writes have ended; then throws the error of the first one that failed. */
    async durable(): Promise<void> {
      const waiting = pending;
      pending = [];
      const failed = (await Promise.allSettled(waiting)).find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected') throw failed.reason;
    },
  };
}
