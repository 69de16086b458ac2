/** Limits how much one name does at a time: the others are served in the order in which they asked. */
export interface Slots {
  /** Resolves with a slot, which must be disposed. Rejects with the signal's reason. */
  take(name: string, signal: AbortSignal): Promise<Disposable>;
}

interface Line {
  taken: number;
  readonly waiting: Set<() => void>;
}

export function createSlots(limit: number): Slots {
  const lines = new Map<string, Line>();

  const slotOf = (name: string, line: Line): Disposable => ({
    [Symbol.dispose]() {
      const [next] = line.waiting;
      if (next) return next();
      line.taken -= 1;
      if (line.taken === 0) lines.delete(name);
    },
  });

  return {
    async take(name, signal) {
      signal.throwIfAborted();
      const line = lines.get(name) ?? { taken: 0, waiting: new Set() };
      lines.set(name, line);
      if (line.taken < limit) {
        line.taken += 1;
        return slotOf(name, line);
      }
      const { promise, resolve, reject } = Promise.withResolvers<Disposable>();
      const onTurn = (): void => {
        line.waiting.delete(onTurn);
        signal.removeEventListener('abort', onAbort);
        resolve(slotOf(name, line));
      };
      const onAbort = (): void => {
        line.waiting.delete(onTurn);
        reject(signal.reason);
      };
      line.waiting.add(onTurn);
      signal.addEventListener('abort', onAbort, { once: true });
      return promise;
    },
  };
}
