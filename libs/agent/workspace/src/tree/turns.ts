/** Grants exclusive turns, in order of arrival. */
export interface Turns {
  /**
   * Resolves with a turn that lasts until it is disposed of. `first` goes ahead of all other waiters. On abort it leaves
   * the queue and rejects with the signal's reason.
   */
  take(options: { readonly first: boolean; readonly signal: AbortSignal }): Promise<Disposable>;
}

interface Waiter {
  readonly first: boolean;
  go(): void;
}

export function createTurns(): Turns {
  const waiting: Waiter[] = [];
  let taken = false;

  function turn(): Disposable {
    let over = false;
    return {
      [Symbol.dispose]() {
        if (over) return;
        over = true;
        const next = waiting.shift();
        if (next === undefined) taken = false;
        else next.go();
      },
    };
  }

  return {
    async take({ first, signal }) {
      signal.throwIfAborted();
      if (!taken) {
        taken = true;
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
