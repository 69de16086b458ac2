import { basename, join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { contextName } from '../stores/context-name.ts';
import {
  contextNames,
  readBase,
  readContext,
  type StoredContext,
  setAside,
  setAsideFolders,
} from './context-folder.ts';
import type { Removing } from './removing.ts';
import type { PrunedContexts, PruneOptions } from './workspace.ts';

const PAGE = 1000;

/**
 * Removes the contexts that no task needs, and their merged results; the results that nobody merged in time; what earlier
 * removals left; and the objects of all that. One context that cannot be removed is logged and keeps none of the others.
 */
export async function pruneContexts(parts: Removing, options: PruneOptions): Promise<PrunedContexts> {
  const { contexts, base, results, log } = parts;
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
  const refs = await results.all();
  const old: StoredContext[] = [];
  for (const name of names) {
    const context = await readContext(contexts, name);
    if (context !== undefined && context.usedAt < options.unusedBefore) old.push(context);
  }
  const alone = [...refs.keys()].filter((name) => !stored.has(name));
  const needed = await withTasks(new Set([...old.map(({ name }) => name), ...alone]), options);
  const start = refs.size === 0 ? undefined : await parts.start();
  // A removal may take minutes, so each looks again at what is found here.
  const merged = start === undefined ? new Set<string>() : await results.mergedInto(start);
  for (const [name, { tip, base: from }] of refs) if (tip === undefined || tip === from) merged.add(name);

  let removed = 0;
  for (const { name } of old.filter((context) => !needed.has(context.name))) {
    const isMerged = async (): Promise<boolean> => merged.has(name) && parts.isMerged(name, start);
    const gone = await attempt(() => removeUnused(name, isMerged, parts, options), { context: name });
    if (gone) removed += 1;
  }
  let deleted = 0;
  for (const name of alone.filter((other) => !needed.has(other))) {
    const isOver = async (): Promise<boolean> =>
      (merged.has(name) && (await parts.isMerged(name, start))) ||
      (options.resultsBefore !== undefined && (await results.recordedAt(name)) < options.resultsBefore);
    const deleteIt = async (): Promise<boolean> => (await isOver()) && deleteResult(name, parts, options);
    const remove = (): Promise<boolean> => parts.uses.exclusively(name, signal, deleteIt);
    if (await attempt(remove, { result: name })) deleted += 1;
  }
  signal.throwIfAborted();
  await parts.setUps?.prune(signal);
  await results.prune();
  await base.tidy(() => startedFrom(parts));
  return { contexts: removed, results: deleted };
}

/** Removes a context unless it was used meanwhile, or a new task needs it. */
async function removeUnused(
  name: string,
  isMerged: () => Promise<boolean>,
  { contexts, uses, results, removeAllAside }: Removing,
  options: PruneOptions,
): Promise<boolean> {
  const isAside = await uses.exclusively(name, options.signal, async () => {
    const now = await readContext(contexts, name);
    if (now === undefined || now.usedAt >= options.unusedBefore) return false;
    // A task that is accepted after this look waits for the removal, and its context starts anew.
    if (await isNeeded(name, now.contextId, options)) return false;
    await setAside(contexts, name);
    if (await isMerged()) await results.delete([name]);
    return true;
  });
  return isAside && removeAllAside(name, options.signal);
}

/** Deletes a result whose context is gone; not when a task has brought it back meanwhile, or a new one needs it. */
async function deleteResult(
  name: string,
  { contexts, results }: Removing,
  options: PruneOptions,
): Promise<boolean> {
  if ((await readContext(contexts, name)) !== undefined) return false;
  if (await isNeeded(name, undefined, options)) return false;
  await results.delete([name]);
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

/** The commits that contexts and results started from. */
async function startedFrom({ contexts, results }: Removing): Promise<Set<string>> {
  const used = new Set<string>();
  for (const { base } of (await results.all()).values()) if (base !== undefined) used.add(base);
  for (const name of await contextNames(contexts)) {
    const base = await readBase(join(contexts, name));
    if (base !== undefined) used.add(base);
  }
  return used;
}
