/** Delays between attempts, in ms: doubling up to a ceiling, each spread over its upper half so that clients scatter. */
export interface Backoff {
  next(): number;
  reset(): void;
}

export function createBackoff(o: { firstMs: number; maxMs: number; random: () => number }): Backoff {
  let delay = o.firstMs;
  return {
    next: () => {
      const current = delay;
      delay = Math.min(delay * 2, o.maxMs);
      return current * (0.5 + o.random() / 2);
    },
    reset: () => {
      delay = o.firstMs;
    },
  };
}
