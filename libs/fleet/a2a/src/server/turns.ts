/** Works that each caller may have at a time; the others of that caller wait for their turn, in order. */
export interface Turns {
  /** Resolves when it is the work's turn, which lasts until it is disposed. Rejects with the signal's reason. */
  takeTurn(caller: string, signal: AbortSignal): Promise<Disposable>;
}

/** The turns that one caller has and waits for; removed when there are none. */
interface Line {
  running: number;
  readonly waiting: Set<() => void>;
}

export function createTurns(limit: number | ((caller: string) => number)): Turns {
  const limitOf = typeof limit === 'number' ? () => limit : limit;
  const lines = new Map<string, Line>();

  function end(caller: string, line: Line): void {
    line.running -= 1;
    const [next] = line.waiting;
    if (next) next();
    else if (line.running === 0) lines.delete(caller);
  }

  return {
    async takeTurn(caller, signal) {
      signal.throwIfAborted();
      const line = lines.get(caller) ?? { running: 0, waiting: new Set() };
      lines.set(caller, line);
      if (line.running >= limitOf(caller)) await wait(line, signal);
      else line.running += 1;
      let isOver = false;
      return {
        [Symbol.dispose]() {
          if (!isOver) end(caller, line);
          isOver = true;
        },
      };
    },
  };
}

/** Resolves with the turn of a work that has ended. */
function wait(line: Line, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      line.waiting.delete(begin);
      reject(signal.reason);
    };
    const begin = (): void => {
      line.waiting.delete(begin);
      signal.removeEventListener('abort', leave);
      line.running += 1;
      resolve();
    };
    line.waiting.add(begin);
    signal.addEventListener('abort', leave, { once: true });
  });
}
