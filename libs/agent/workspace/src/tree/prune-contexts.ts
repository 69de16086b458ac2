import { basename, join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Log } from '@hermes-fleet/protocol/ports';
import { contextName } from '../stores/context-name.ts';
import {
  contextNames,
  readBase,
  readContext,
  type StoredContext,
  setAside,
  setAsideFolders,
} from './context-folder.ts';
import { type HeldRepository, headsOf, isMerged, type Removing } from './removing.ts';
import type { PrunedContexts, PruneOptions } from './workspace.ts';

const PAGE = 1000;

/**
 * Removes the contexts that no task needs, and their merged results; the results that nobody merged in time; what earlier
 * removals left; and the objects of all that. One context that cannot be removed is logged and keeps none of the others.
 */
export async function pruneContexts(parts: Removing, options: PruneOptions): Promise<PrunedContexts> {
  const { contexts, log } = parts;
  const { signal } = options;

  async function attempt(work: () => Promise<boolean>, what: Record<string, unknown>): Promise<boolean> {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (err) {
      signal.throwIfAborted();
      if (err instanceof FleetError && err.code === 'CONTEXT_IN_USE') return false;
      log.warn({ err, ...what }, 'a context cannot be removed; the next try is in an hour');
      return false;
    }
  }

  for (const folder of await setAsideFolders(contexts)) {
    const remove = (): Promise<boolean> => parts.removeAside(folder, signal).then(() => true);
    await attempt(remove, { folder: basename(folder) });
  }
  const names = await contextNames(contexts);
  const stored = new Set(names);
  const { all, checkouts, checkout } = parts.repositories;
  const withCheckout = await checkouts();
  const repositories = [...(await all())];
  // One after the other: each starts processes, and there may be a thousand.
  for (const name of withCheckout) {
    signal.throwIfAborted();
    try {
      repositories.push(await checkout(name));
    } catch (err) {
      log.error({ err, checkout: name }, 'a checkout cannot be opened');
    }
  }
  const held: Held[] = [];
  for (const each of repositories) {
    signal.throwIfAborted();
    held.push(await heldBy(each, stored, log));
  }
  const old: StoredContext[] = [];
  for (const name of names) {
    const context = await readContext(contexts, name);
    if (context !== undefined && context.usedAt < options.unusedBefore) old.push(context);
  }
  const candidates = [...old.map(({ name }) => name), ...held.flatMap(({ alone }) => alone), ...withCheckout];
  const needed = await withTasks(new Set(candidates), options);

  let removed = 0;
  for (const { name } of old.filter((context) => !needed.has(context.name)))
    if (await attempt(() => removeUnused(name, held, parts, options), { context: name })) removed += 1;
  let deleted = 0;
  for (const found of held)
    for (const name of found.alone.filter((other) => !needed.has(other))) {
      const deleteIt = async (): Promise<boolean> =>
        (await isOver(name, found, options)) && deleteResult(name, found, parts, options);
      const remove = (): Promise<boolean> => parts.uses.exclusively(name, signal, deleteIt);
      if (await attempt(remove, { result: name })) deleted += 1;
    }
  for (const { repository } of held) {
    signal.throwIfAborted();
    await repository.setUps?.prune(signal);
    await repository.results.prune();
    await repository.base.tidy(() => startedFrom(contexts, repository));
  }
  for (const name of withCheckout.filter((other) => !needed.has(other)))
    await attempt(() => forgetEmpty(name, parts), { checkout: name });
  return { contexts: removed, results: deleted };
}

/** Removes a checkout whose context and results are gone. */
async function forgetEmpty(name: string, { contexts, uses, repositories }: Removing): Promise<boolean> {
  return uses.exclusively(name, undefined, async () => {
    const { results } = await repositories.checkout(name);
    if ((await readContext(contexts, name)) !== undefined || (await results.all()).size > 0) return false;
    await repositories.forgetCheckout(name);
    return true;
  });
}

/** What a repository has of contexts. */
interface Held {
  readonly repository: HeldRepository;
  readonly heads: readonly string[];
  /** Those whose result was merged, or changed nothing, when this was found. A removal may take minutes, so each looks again. */
  readonly merged: ReadonlySet<string>;
  /** Those whose folder is gone. */
  readonly alone: readonly string[];
}

async function heldBy(repository: HeldRepository, stored: ReadonlySet<string>, log: Log): Promise<Held> {
  const { results } = repository;
  const refs = await results.all();
  const heads = refs.size === 0 ? [] : await headsOf(repository, log);
  const merged = new Set<string>();
  for (const head of heads) for (const name of await results.mergedInto(head)) merged.add(name);
  for (const [name, { tip, base: from }] of refs) if (tip === undefined || tip === from) merged.add(name);
  return { repository, heads, merged, alone: [...refs.keys()].filter((name) => !stored.has(name)) };
}

/** True for a result that is merged, or that nobody merged in time. */
const isOver = async (name: string, { repository, heads, merged }: Held, options: PruneOptions) =>
  (merged.has(name) && (await isMerged(name, repository, heads))) ||
  (options.resultsBefore !== undefined &&
    (await repository.results.recordedAt(name)) < options.resultsBefore);

/** Removes a context unless it was used meanwhile, or a new task needs it; and its result if it is merged. */
async function removeUnused(
  name: string,
  held: readonly Held[],
  { contexts, uses, removeAllAside }: Removing,
  options: PruneOptions,
): Promise<boolean> {
  const isAside = await uses.exclusively(name, options.signal, async () => {
    const now = await readContext(contexts, name);
    if (now === undefined || now.usedAt >= options.unusedBefore) return false;
    // A task that is accepted after this look waits for the removal, and its context starts anew.
    if (await isNeeded(name, now.contextId, options)) return false;
    await setAside(contexts, name);
    for (const { repository, heads, merged } of held)
      if (merged.has(name) && (await isMerged(name, repository, heads)))
        await repository.results.delete([name]);
    return true;
  });
  return isAside && removeAllAside(name, options.signal);
}

/** Deletes a result whose context is gone; not when a task has brought it back meanwhile, or a new one needs it. */
async function deleteResult(
  name: string,
  { repository }: Held,
  { contexts }: Removing,
  options: PruneOptions,
): Promise<boolean> {
  if ((await readContext(contexts, name)) !== undefined) return false;
  if (await isNeeded(name, undefined, options)) return false;
  await repository.results.delete([name]);
  return true;
}

/** True when there are tasks of the context. A result, and a context that a crash left so, do not name their id. */
async function isNeeded(
  name: string,
  contextId: string | undefined,
  options: PruneOptions,
): Promise<boolean> {
  if (contextId !== undefined) return options.hasTasks(contextId);
  // A plain name is the id itself; another is a hash, which the ids are searched for.
  if (contextName(name) === name) return options.hasTasks(name);
  return (await withTasks(new Set([name]), options)).has(name);
}

/** Those of the contexts that the ledger has tasks of. A name does not tell the id that it was made of. */
async function withTasks(names: ReadonlySet<string>, options: PruneOptions): Promise<Set<string>> {
  const needed = new Set<string>();
  let after = '';
  for (let page = PAGE; page === PAGE && names.size > 0; ) {
    options.signal.throwIfAborted();
    const ids = options.contextIds(after, PAGE);
    for (const name of ids.map(contextName)) if (names.has(name)) needed.add(name);
    page = ids.length;
    after = ids.at(-1) ?? '';
    // Requests are served between two pages.
    await new Promise(setImmediate);
  }
  return needed;
}

/** The commits that contexts, also those of other repositories, and the results of this one started from. */
async function startedFrom(contexts: string, { results }: HeldRepository): Promise<Set<string>> {
  const used = new Set<string>();
  for (const { base } of (await results.all()).values()) if (base !== undefined) used.add(base);
  for (const name of await contextNames(contexts)) {
    const base = await readBase(join(contexts, name));
    if (base !== undefined) used.add(base);
  }
  return used;
}
