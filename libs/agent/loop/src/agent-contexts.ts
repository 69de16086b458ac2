import { FleetError } from '@hermes-fleet/protocol';
import type { ContextStore, PruneOptions } from '@hermes-fleet/workspace';

/** The contexts of an agent on disk, and their removal (docs/operations.md#what-is-removed-and-when). */
export type AgentContexts = ReturnType<typeof createAgentContexts>;

/** Removals that are under way when the agent closes end then, and are completed after the next start. */
export function createAgentContexts(
  store: ContextStore,
  releaseContext: (contextId: string) => Promise<void>,
) {
  const closing = new AbortController();
  const active = new Set<Promise<unknown>>();

  async function tracked<T>(work: Promise<T>): Promise<T> {
    active.add(work);
    try {
      return await work;
    } finally {
      active.delete(work);
    }
  }

  return {
    /**
     * Removes all that is on disk of a context, and its result if it is merged or `results` is `delete`; completes an earlier
     * removal. Throws CONTEXT_IN_USE, SHUTTING_DOWN, and INTERNAL when something is left: call again.
     */
    async remove(contextId: string, { results }: { readonly results: 'keep' | 'delete' }) {
      closing.signal.throwIfAborted();
      const release = (): Promise<void> => releaseContext(contextId);
      return tracked(store.remove(contextId, { results, release, signal: closing.signal }));
    },
    /** Removes the contexts and results that are no longer needed, see `ContextStore`. Throws the signal's reason. */
    prune: (options: PruneOptions) =>
      tracked(store.prune({ ...options, signal: AbortSignal.any([options.signal, closing.signal]) })),
    /** Which contexts have files or a result, see `ContextStore`. */
    held: () => tracked(store.held()),
    async close(): Promise<void> {
      closing.abort(
        new FleetError('SHUTTING_DOWN', 'the profile is shutting down: its next start completes the removal'),
      );
      await Promise.allSettled(active);
    },
  };
}
