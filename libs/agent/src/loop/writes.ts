/**
 * The writes of a conversation that are under way. Those that begin in one turn of the event loop share a commit, so
 * that a step waits for the disk only where something must not begin before what came before it is durable.
 */
export interface Writes {
  /** Takes note of writes that were begun. What follows goes on without them. */
  begun(...writes: readonly Promise<unknown>[]): void;
  /** Resolves once all that were begun are durable; throws what the first of those that failed threw, when all ended. */
  durable(): Promise<void>;
}

export function createWrites(): Writes {
  let underWay: Promise<unknown>[] = [];
  return {
    begun(...writes) {
      // Whoever waits for them next is told.
      for (const write of writes) write.catch(() => {});
      underWay.push(...writes);
    },
    async durable() {
      const waiting = underWay;
      underWay = [];
      const failed = (await Promise.allSettled(waiting)).find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected') throw failed.reason;
    },
  };
}
