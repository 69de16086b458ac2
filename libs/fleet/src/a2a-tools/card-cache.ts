import type { Clock } from '@hermes-fleet/protocol';

const TTL_MS = 300_000;
const MAX_ENTRIES = 100;

export interface CardCache<T> {
  get(key: string, read: () => Promise<T>): Promise<T>;
}

/** What was read of agents, for five minutes each; the oldest of a hundred makes room. A failure is not kept. */
export function createCardCache<T>(clock: Pick<Clock, 'now'>): CardCache<T> {
  const kept = new Map<string, { readonly value: T; readonly readAt: number }>();
  return {
    async get(key, read) {
      const known = kept.get(key);
      if (known && Math.abs(clock.now() - known.readAt) < TTL_MS) return known.value;
      const value = await read();
      kept.delete(key);
      kept.set(key, { value, readAt: clock.now() });
      for (const oldest of kept.keys()) {
        if (kept.size <= MAX_ENTRIES) break;
        kept.delete(oldest);
      }
      return value;
    },
  };
}
