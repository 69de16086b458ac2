/** Compares what each caller gets with its equal share, while several callers wait. */
export interface Fairness {
  arrived(caller: string): void;
  /** A waiting task of the caller has got its place. */
  served(caller: string): void;
  /** A waiting task of the caller has ended without a place. */
  left(caller: string): void;
  /** A caller's places over its equal share; callers that shared none are left out. */
  shares(): ReadonlyMap<string, number>;
  /** Jain's index of these shares: 1 is perfectly fair, 1/n the opposite. */
  index(): number;
}

export function createFairness(): Fairness {
  const waiting = new Map<string, number>();
  const due = new Map<string, number>();
  const got = new Map<string, number>();
  const add = (map: Map<string, number>, key: string, by: number): void => {
    const sum = (map.get(key) ?? 0) + by;
    if (sum === 0) map.delete(key);
    else map.set(key, sum);
  };
  const shares = (): ReadonlyMap<string, number> =>
    new Map([...due].map(([caller, share]) => [caller, (got.get(caller) ?? 0) / share] as const).sort());
  return {
    arrived: (caller) => add(waiting, caller, 1),
    served(caller) {
      if (waiting.size > 1) {
        for (const each of waiting.keys()) add(due, each, 1 / waiting.size);
        add(got, caller, 1);
      }
      add(waiting, caller, -1);
    },
    left: (caller) => add(waiting, caller, -1),
    shares,
    index() {
      const values = [...shares().values()];
      if (values.length === 0) return 1;
      const sum = values.reduce((a, b) => a + b, 0);
      return (sum * sum) / (values.length * values.reduce((a, b) => a + b * b, 0));
    },
  };
}
