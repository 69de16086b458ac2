import { FleetError } from '@hermes-fleet/protocol';
import type { ContextStore, PrunedContexts, PruneOptions, RemovedContext } from '@hermes-fleet/workspace';

/** The contexts of an agent on disk, and their removal (docs/operations.md#what-is-removed-and-when). */
export interface AgentContexts {
  /**
   * Removes a context's files, processes, MCP instances and user, with the scratchpads of its tasks, and its result if it is
   * merged or `results` is `delete`. A call for a context that is gone completes an earlier removal. Throws CONTEXT_IN_USE
   * while a task works there, SHUTTING_DOWN, and INTERNAL when something is left: call again.
   */
  remove(contextId: string, options: { readonly results: 'keep' | 'delete' }): Promise<RemovedContext>;
  /** Removes the contexts and results that are no longer needed, see `ContextStore`. Throws the signal's reason. */
  prune(options: PruneOptions): Promise<PrunedContexts>;
  /** Which contexts have files or a result, see `ContextStore`. */
  held: ContextStore['held'];
}

/** Removals that are under way when the agent closes end then, and are completed after the next start. */
export function createAgentContexts(
  store: ContextStore,
  releaseContext: ((contextId: string) => Promise<void>) | undefined,
): AgentContexts & { close(): Promise<void> } {
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

  async function remove(contextId: string, results: 'keep' | 'delete'): Promise<RemovedContext> {
    closing.signal.throwIfAborted();
    const release = async (): Promise<void> => releaseContext?.(contextId);
    return store.remove(contextId, { results, release, signal: closing.signal });
  }

  return {
    remove: (contextId, { results }) => tracked(remove(contextId, results)),
    prune: (options) =>
      tracked(store.prune({ ...options, signal: AbortSignal.any([options.signal, closing.signal]) })),
    held: () => tracked(store.held()),
    async close() {
      closing.abort(
        new FleetError('SHUTTING_DOWN', 'the profile is shutting down: its next start completes the removal'),
      );
      await Promise.allSettled(active);
    },
  };
}
