import { FleetError } from '@hermes-fleet/protocol';

/** `task`: nobody may remove the context meanwhile. `look`: short; a removal waits for its end. */
export type UseKind = 'task' | 'look';

/** Keeps a context from being removed while it is in use, and from being used while it is removed. */
export interface ContextUses {
  /** Resolves, once no removal is under way, with a use that lasts until it is disposed of. */
  use(name: string, kind: UseKind, signal?: AbortSignal): Promise<Disposable>;
  /**
   * Runs `work` while nobody uses the context, one such work at a time. Throws CONTEXT_IN_USE while a task uses it, and
   * the signal's reason when it aborts before `work` begins.
   */
  exclusively<T>(name: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>;
}

interface Uses {
  tasks: number;
  looks: number;
  /** Resolves when the removal is over. */
  removal: Promise<void> | undefined;
  /** Called when the last look has ended. */
  unseen: (() => void) | undefined;
}

export function createContextUses(): ContextUses {
  const contexts = new Map<string, Uses>();

  function usesOf(name: string): Uses {
    const uses = contexts.get(name) ?? { tasks: 0, looks: 0, removal: undefined, unseen: undefined };
    contexts.set(name, uses);
    return uses;
  }

  function forget(name: string, { tasks, looks, removal }: Uses): void {
    if (tasks === 0 && looks === 0 && removal === undefined) contexts.delete(name);
  }

  /** The removal to wait for. It is looked at again after each wait, in one step with what follows. */
  const removalOf = (name: string): Promise<void> | undefined => contexts.get(name)?.removal;

  return {
    async use(name, kind, signal) {
      signal?.throwIfAborted();
      for (let removal = removalOf(name); removal !== undefined; removal = removalOf(name))
        await unlessAborted(removal, signal);
      const uses = usesOf(name);
      const count = kind === 'task' ? 'tasks' : 'looks';
      uses[count] += 1;
      let over = false;
      return {
        [Symbol.dispose]() {
          if (over) return;
          over = true;
          uses[count] -= 1;
          if (uses.looks === 0) uses.unseen?.();
          forget(name, uses);
        },
      };
    },
    async exclusively(name, signal, work) {
      signal?.throwIfAborted();
      for (let removal = removalOf(name); removal !== undefined; removal = removalOf(name))
        await unlessAborted(removal, signal);
      const uses = usesOf(name);
      if (uses.tasks > 0) {
        forget(name, uses);
        const message = 'a task works in this context: cancel it or wait for its end, then try again';
        throw new FleetError('CONTEXT_IN_USE', message);
      }
      const { promise: removal, resolve: over } = Promise.withResolvers<void>();
      uses.removal = removal;
      try {
        if (uses.looks > 0) {
          const { promise: unseen, resolve } = Promise.withResolvers<void>();
          uses.unseen = resolve;
          await unlessAborted(unseen, signal);
        }
        return await work();
      } finally {
        uses.unseen = undefined;
        uses.removal = undefined;
        forget(name, uses);
        over();
      }
    },
  };
}

/** Waits for the promise, which never rejects; rejects with the signal's reason when it aborts first. */
async function unlessAborted(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
