import { contextName } from '../stores/context-name.ts';
import { contextNames, setAside } from './context-folder.ts';
import { pruneContexts } from './prune-contexts.ts';
import { type ContextStoreOptions, createRemoving } from './removing.ts';
import type { ContextStore, RemovedContext } from './workspace.ts';

/** Removes contexts. One step takes a context away from its name, so a crash leaves nothing that a task could find. */
export function createContextStore(options: ContextStoreOptions): ContextStore {
  const { contexts, uses, results } = options;
  const parts = createRemoving(options);

  /** Deletes the result when it is merged or asked for, and says which. Nobody may use the context. */
  async function settle(
    name: string,
    unmerged: 'keep' | 'delete',
    start: string | undefined,
  ): Promise<RemovedContext['result']> {
    const { tip, base: from } = await results.refs(name);
    if (tip === undefined) {
      if (from !== undefined) await results.delete([name]);
      return 'none';
    }
    const merged = await parts.isMerged(name, start);
    if (!merged && unmerged === 'keep') return 'kept';
    await results.delete([name]);
    return merged ? 'merged' : 'deleted';
  }

  return {
    async remove(contextId, { results: unmerged, release, signal }) {
      const name = contextName(contextId);
      const start = await parts.start();
      const result = await uses.exclusively(name, signal, async () => {
        await release?.();
        await setAside(contexts, name);
        return settle(name, unmerged, start);
      });
      const files = await parts.removeAllAside(name, signal);
      await results.pruneInTurn();
      return { files, result };
    },
    prune: (pruning) => pruneContexts(parts, pruning),
    async held() {
      // A result is recorded before its context goes, so the contexts are read first.
      const stored = new Set(await contextNames(contexts));
      const refs = await results.all();
      return (contextId) => {
        const name = contextName(contextId);
        return stored.has(name) || refs.has(name);
      };
    },
  };
}
