import { contextName } from '../stores/context-name.ts';
import { contextNames, setAside } from './context-folder.ts';
import { pruneContexts } from './prune-contexts.ts';
import {
  type ContextStoreOptions,
  createRemoving,
  type HeldRepository,
  headsOf,
  isMerged,
} from './removing.ts';
import type { ContextStore, RemovedContext } from './workspace.ts';

/** What becomes of the results of a context, the most that is left first. */
const RESULTS: readonly RemovedContext['result'][] = ['kept', 'deleted', 'merged', 'none'];

/** Removes contexts. One step takes a context away from its name, so a crash leaves nothing that a task could find. */
export function createContextStore(options: ContextStoreOptions): ContextStore {
  const { contexts, uses, bundles, log } = options;
  const parts = createRemoving(options);

  /** Deletes the result when it is merged or asked for, and says which. Nobody may use the context. */
  async function settle(
    name: string,
    unmerged: 'keep' | 'delete',
    repository: HeldRepository,
  ): Promise<RemovedContext['result']> {
    const { results } = repository;
    const { tip, base: from } = await results.refs(name);
    if (tip === undefined) {
      if (from !== undefined) await results.delete([name]);
      return 'none';
    }
    const merged = await isMerged(name, repository, await headsOf(repository, log));
    if (!merged && unmerged === 'keep') return 'kept';
    await results.delete([name]);
    return merged ? 'merged' : 'deleted';
  }

  return {
    async remove(contextId, { results: unmerged, release, signal }) {
      const name = contextName(contextId);
      const { all, checkouts, checkout, forgetCheckout } = options.repositories;
      const own = (await checkouts()).includes(name) ? [await checkout(name)] : [];
      const repositories = [...(await all()), ...own];
      // An earlier context of this name may have left a result in another repository.
      const settled = await uses.exclusively(name, signal, async () => {
        await release?.();
        await setAside(contexts, name);
        const all = await Promise.all(repositories.map((each) => settle(name, unmerged, each)));
        if (all.at(-1) !== 'kept') for (const _ of own) await forgetCheckout(name);
        return all;
      });
      const hadBundle = await bundles.release(contextId);
      const files = (await parts.removeAllAside(name, signal)) || hadBundle;
      for (const { results } of await all()) await results.pruneInTurn();
      return { files, result: RESULTS.find((result) => settled.includes(result)) ?? 'none' };
    },
    async prune(pruning) {
      await bundles.sweep(pruning.hasTasks);
      return pruneContexts(parts, pruning);
    },
    async held() {
      // A result is recorded before its context goes, so the contexts are read first.
      const stored = new Set(await contextNames(contexts));
      const checkouts = new Set(await options.repositories.checkouts());
      const refs = await Promise.all((await options.repositories.all()).map(({ results }) => results.all()));
      const bundled = bundles.contexts();
      return (contextId) => {
        const name = contextName(contextId);
        return (
          bundled.has(contextId) ||
          stored.has(name) ||
          checkouts.has(name) ||
          refs.some((each) => each.has(name))
        );
      };
    },
  };
}
