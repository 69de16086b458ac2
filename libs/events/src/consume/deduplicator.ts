/** Remembers the ids seen last, so that a reader of an at-least-once stream handles each event once. */
export interface Deduplicator {
  /** True the first time an id comes, false while it is remembered. */
  isNew(id: string): boolean;
}

/** Remembers at most `max` ids; beyond that the one seen longest ago is forgotten. */
export function createDeduplicator(max: number): Deduplicator {
  if (!Number.isInteger(max) || max < 1) throw new RangeError(`max must be a positive integer, not ${max}`);
  const seen = new Set<string>();
  return {
    isNew(id) {
      const known = seen.delete(id);
      seen.add(id);
      if (seen.size > max) {
        for (const oldest of seen) {
          seen.delete(oldest);
          break;
        }
      }
      return !known;
    },
  };
}
