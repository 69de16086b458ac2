import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { BundleStore } from '../bundles/bundles.ts';
import type { Confinement } from '../confinement/confinement.ts';
import { type RunAsOwner, removeFolder } from '../confinement/remove-folder.ts';
import { runCommand } from '../process/run-command.ts';
import { isThere } from '../process/system-error.ts';
import type { Base } from '../stores/base.ts';
import type { Results } from '../stores/results.ts';
import { setAsideFolders } from './context-folder.ts';
import type { ContextUses } from './context-uses.ts';

/** What contexts of a repository leave. */
export interface HeldRepository {
  readonly base: Base;
  readonly results: Results;
  readonly setUps?: { prune(signal: AbortSignal): Promise<void> } | undefined;
}

export interface ContextStoreOptions {
  /** The folder with the contexts. */
  readonly contexts: string;
  readonly uses: ContextUses;
  readonly bundles: Pick<BundleStore, 'release' | 'sweep' | 'contexts'>;
  readonly repositories: {
    /** All but checkouts. */
    all(): Promise<readonly HeldRepository[]>;
    /** The names of the contexts that have a checkout. */
    checkouts(): Promise<readonly string[]>;
    checkout(context: string): Promise<HeldRepository>;
    /** Removes the checkout of a context that is gone, and its results. */
    forgetCheckout(context: string): Promise<void>;
  };
  readonly confinement: Confinement;
  readonly clock: Clock;
  readonly log: Log;
}

export type Removing = ReturnType<typeof createRemoving>;

/** What both ways of removing contexts need. */
export function createRemoving(options: ContextStoreOptions) {
  const removals = new Map<string, Promise<void>>();

  /** Removes a folder that was set aside. Calls for the same folder share one removal. */
  function removeAside(folder: string, signal: AbortSignal | undefined): Promise<void> {
    const known = removals.get(folder);
    if (known !== undefined) return known;
    const removal = removeFiles(folder, options, signal).finally(() => removals.delete(folder));
    removals.set(folder, removal);
    return removal;
  }

  return {
    ...options,
    removeAside,
    /** Removes what was set aside of one context, and returns whether there was anything. Throws when something is left. */
    async removeAllAside(name: string, signal: AbortSignal | undefined): Promise<boolean> {
      const folders = await setAsideFolders(options.contexts, name);
      const removed = await Promise.allSettled(folders.map((folder) => removeAside(folder, signal)));
      for (const removal of removed) if (removal.status === 'rejected') throw removal.reason;
      return folders.length > 0;
    },
  };
}

/** The commits in which results may be merged; none, and logged, when the user's repository cannot be read. */
export const headsOf = ({ base }: HeldRepository, log: Log): Promise<readonly string[]> =>
  base.heads().catch((err: unknown) => {
    log.warn({ err }, 'no result counts as merged, because the repository cannot be read');
    return [];
  });

/** True when the context's result, as it is now, is contained in one of `heads` or changed nothing, or there is none. */
export async function isMerged(
  name: string,
  { results }: HeldRepository,
  heads: readonly string[],
): Promise<boolean> {
  const { tip, base } = await results.refs(name);
  if (tip === undefined || tip === base) return true;
  for (const head of heads) if ((await results.mergedInto(head, name)).has(name)) return true;
  return false;
}

/** Removes a folder of the gateway's in which commands wrote, as their user. Does nothing when it is not there. */
export async function removeFiles(
  folder: string,
  { confinement, clock, log }: Pick<ContextStoreOptions, 'confinement' | 'clock' | 'log'>,
  signal: AbortSignal | undefined,
): Promise<void> {
  // An earlier call has removed it meanwhile.
  if (!(await isThere(folder))) return;
  if (confinement.users !== undefined) return confinement.users.remove(folder, signal);
  const owner: RunAsOwner = (script, folders, limits) => {
    const line = confinement.wrap('/bin/sh', ['-c', script, 'sh', ...folders], {
      writable: folders,
      readOnly: [],
    });
    return runCommand(line, { clock, ...limits });
  };
  return removeFolder(folder, owner, { clock, log, signal });
}
