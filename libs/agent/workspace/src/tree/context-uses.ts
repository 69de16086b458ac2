import { FleetError } from '@hermes-fleet/protocol';
import { raceSignal } from '@hermes-fleet/protocol/ports';

/** `task`: nobody may remove the context meanwhile. `look`: short; a removal waits for its end. */
export type UseKind = 'task' | 'look';

export type ContextUses = ReturnType<typeof createContextUses>;

interface Uses {
  task: number;
  look: number;
  /** Resolves when the removal is over. */
  removal: Promise<void> | undefined;
  /** Called when the last look has ended. */
  unseen: (() => void) | undefined;
}

const NEVER = new AbortController().signal;

/** Keeps a context from being removed while it is in use, and from being used while it is removed. */
export function createContextUses() {
  const contexts = new Map<string, Uses>();

  /** Begins something once no removal is under way; that is looked at again after each wait, in one step with the beginning. */
  async function begun<T>(name: string, signal: AbortSignal, begin: (uses: Uses) => T): Promise<Awaited<T>> {
    signal.throwIfAborted();
    for (let uses = contexts.get(name); uses?.removal !== undefined; uses = contexts.get(name))
      await raceSignal(uses.removal, signal);
    const uses = contexts.get(name) ?? { task: 0, look: 0, removal: undefined, unseen: undefined };
    contexts.set(name, uses);
    return await begin(uses);
  }

  function forget(name: string, { task, look, removal }: Uses): void {
    if (task === 0 && look === 0 && removal === undefined) contexts.delete(name);
  }

  return {
    /** Resolves, once no removal is under way, with a use that lasts until it is disposed of. */
    use: (name: string, kind: UseKind, signal: AbortSignal = NEVER): Promise<Disposable> =>
      begun(name, signal, (uses) => {
        uses[kind] += 1;
        const use = new DisposableStack();
        use.defer(() => {
          uses[kind] -= 1;
          if (uses.look === 0) uses.unseen?.();
          forget(name, uses);
        });
        return use;
      }),
    /**
     * Runs `work` while nobody uses the context, one such work at a time. Throws CONTEXT_IN_USE while a task uses it, and
     * the signal's reason when it aborts before `work` begins.
     */
    exclusively: <T>(
      name: string,
      signal: AbortSignal = NEVER,
      work: () => Promise<T>,
    ): Promise<Awaited<T>> =>
      begun(name, signal, async (uses) => {
        if (uses.task > 0) {
          const message = 'a task works in this context: cancel it or wait for its end, then try again';
          throw new FleetError('CONTEXT_IN_USE', message);
        }
        const { promise: removal, resolve: over } = Promise.withResolvers<void>();
        uses.removal = removal;
        try {
          if (uses.look > 0) {
            const { promise: unseen, resolve } = Promise.withResolvers<void>();
            uses.unseen = resolve;
            await raceSignal(unseen, signal);
          }
          return await work();
        } finally {
          uses.unseen = undefined;
          uses.removal = undefined;
          forget(name, uses);
          over();
        }
      }),
  };
}
