/** Runs work when a slot is free, in the order of the calls, urgent work first. Resolves and rejects as the work does. */
export type Slots = <T>(work: () => Promise<T>, priority: 'urgent' | 'normal') => Promise<T>;

/** At most `count` pieces of work at a time; the caller bounds how many wait. */
export function createSlots(count: number): Slots {
  const waiting = { urgent: [] as (() => void)[], normal: [] as (() => void)[] };
  let free = count;
  return async (work, priority) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting[priority].push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.urgent.shift() ?? waiting.normal.shift();
      if (next) next();
      else free += 1;
    }
  };
}
