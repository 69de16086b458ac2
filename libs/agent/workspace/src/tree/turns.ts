interface Waiter {
  readonly first: boolean;
  go(): void;
}

/** Grants exclusive turns, in order of arrival. */
export function createTurns() {
  const waiting: Waiter[] = [];
  let isTaken = false;

  function turn(): Disposable {
    const ending = new DisposableStack();
    ending.defer(() => {
      const next = waiting.shift();
      if (next === undefined) isTaken = false;
      else next.go();
    });
    return ending;
  }

  return {
    /**
     * Resolves with a turn that lasts until it is disposed of. `first` goes ahead of all other waiters. On abort it leaves
     * the queue and rejects with the signal's reason.
     */
    async takeTurn({
      first,
      signal,
    }: {
      readonly first: boolean;
      readonly signal: AbortSignal;
    }): Promise<Disposable> {
      signal.throwIfAborted();
      if (!isTaken) {
        isTaken = true;
        return turn();
      }
      return new Promise((resolve, reject) => {
        const waiter: Waiter = {
          first,
          go() {
            signal.removeEventListener('abort', leave);
            resolve(turn());
          },
        };
        const leave = (): void => {
          waiting.splice(waiting.indexOf(waiter), 1);
          reject(signal.reason);
        };
        signal.addEventListener('abort', leave, { once: true });
        const behind = first ? waiting.findIndex((other) => !other.first) : -1;
        waiting.splice(behind === -1 ? waiting.length : behind, 0, waiter);
      });
    },
  };
}
