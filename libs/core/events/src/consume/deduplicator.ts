/** Remembers recent ids, so that a reader of an at-least-once stream handles each event once. */
export interface Deduplicator {
  /** True for a new id, false for a remembered one. */
  isNew(id: string): boolean;
}

/** Remembers at most `max` ids and evicts the least recently seen. */
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
