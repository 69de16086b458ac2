import { createHash } from 'node:crypto';
import { link, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Unmet } from '@hermes-fleet/protocol/handshake';
import type { Clock, Log, RepositoryBundles, ResultContent } from '@hermes-fleet/protocol/ports';
import type { Git } from '../git/git.ts';
import { MAX_PACK_BYTES } from '../stores/quarantine.ts';
import { openPassing, passing } from '../stores/store.ts';
import { checkPack, openBundle, refusedBundle, sha256Of } from './bundle-file.ts';
import {
  bundleFile,
  keepFile,
  readStored,
  removeStored,
  type StoredBundle,
  writeRecord,
} from './bundle-records.ts';
import { lackingIn, leafOf, lostIn, neededBy } from './chains.ts';

/** A bundle that no task uses goes after this time. */
const UNUSED_MS = 3_600_000;
const GIB = 1024 ** 3;
/** A caller may keep so many bundles, and so many bytes. */
const MAX_BUNDLES = 1000;
const MAX_CALLER_BYTES = 10 * GIB;
/** That use one bundle. */
const MAX_CONTEXTS = 10_000;

/** The bundles, and what the removal of contexts needs of them. */
export interface BundleStore extends RepositoryBundles {
  /** Removes what only this context uses. False if it uses nothing. */
  release(contextId: string): Promise<boolean>;
  /** Removes what contexts without a task used, what no task used in time, and nothing younger than that. */
  sweep(hasTasks: (contextId: string) => boolean): Promise<void>;
  /** The contexts that use bundles. */
  contexts(): ReadonlySet<string>;
}

type Folder = Map<string, StoredBundle>;

/** Opens the bundles that callers sent, in a folder that no command can read (docs/operations.md#checkouts). */
export async function openBundles({
  dir,
  git,
  clock,
  log,
  shortage = () => undefined,
  limits = {},
}: {
  readonly dir: string;
  readonly git: Git;
  readonly clock: Clock;
  readonly log: Log;
  /** Names the disk while too little of it is free. */
  readonly shortage?: (() => Unmet | undefined) | undefined;
  /** The most that one caller may keep; default: 1,000 bundles, 10 GiB. */
  readonly limits?: { readonly bundles?: number; readonly bytes?: number };
}): Promise<BundleStore> {
  const { bundles: maxBundles = MAX_BUNDLES, bytes: maxBytes = MAX_CALLER_BYTES } = limits;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await openPassing(dir);
  const folders = new Map<string, Folder>();
  const folderOf = (caller: string): string =>
    join(dir, createHash('sha256').update(caller).digest('hex').slice(0, 40));
  const of = (folder: string): Folder => folders.get(folder) ?? new Map();
  const all = (): StoredBundle[] => [...folders.values()].flatMap((each) => [...each.values()]);
  let last: Promise<unknown> = Promise.resolve();

  /** Changes are made one after the other. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = last.then(work, work);
    last = next;
    return next;
  }

  function remember(stored: StoredBundle): void {
    const folder = of(stored.folder);
    folders.set(stored.folder, folder.set(stored.bundle, stored));
  }

  async function write(stored: StoredBundle): Promise<void> {
    await writeRecord(stored);
    remember(stored);
  }

  async function remove(stored: StoredBundle): Promise<void> {
    folders.get(stored.folder)?.delete(stored.bundle);
    await removeStored(stored);
  }

  for (const stored of await readStored(dir, log)) remember(stored);
  for (const folder of folders.values()) for (const lost of lostIn(folder)) await remove(lost);

  const requireRoom = (): void => {
    const unmet = shortage();
    if (unmet !== undefined) throw new FleetError('CAPACITY', unmet.detail);
  };

  /** The bundles that have these commits, and the repository with the rest of the history. Throws BUNDLE_LACKS_COMMITS. */
  function basesOf(folder: Folder, prerequisites: readonly string[], repository: string | undefined) {
    const bringing = newestFirst(folder).filter(({ commit }) => prerequisites.includes(commit));
    const rest = repository ?? bringing.find((each) => each.repository)?.repository;
    const fitting = bringing.filter((each) => each.repository === undefined || each.repository === rest);
    // An older one may need commits that the repository has no more.
    const bases = prerequisites.flatMap((commit) => fitting.find((each) => each.commit === commit) ?? []);
    const lacking = prerequisites.find((commit) => !bases.some((base) => base.commit === commit));
    if (lacking === undefined || repository !== undefined) return { bases, rest };
    throw new FleetError(
      'BUNDLE_LACKS_COMMITS',
      `the bundle builds on commit ${lacking}, which you have not sent, or which is gone: send the whole history`,
    );
  }

  /** Removes bundles that no task uses, the oldest first, until there is room for another one. Throws QUEUE_FULL. */
  async function makeRoom(folder: Folder, bytes: number, bases: readonly StoredBundle[]): Promise<void> {
    const used = [...folder.values()].filter(isUsed);
    const needed = neededBy([...used, ...bases], folder);
    const isFull = (): boolean =>
      folder.size >= maxBundles ||
      [...folder.values()].reduce((sum, each) => sum + each.bytes, bytes) > maxBytes;
    while (isFull()) {
      const leaf = leafOf(folder, needed);
      if (leaf === undefined)
        throw new FleetError(
          'QUEUE_FULL',
          `${folder.size} checkouts of yours are here, at most ${maxBundles} or ${maxBytes / GIB} GiB: delete contexts that you need no more`,
          { retryable: false },
        );
      await remove(leaf);
    }
  }

  /** Removes the bundles of a caller that nothing needs any more. */
  async function tidy(folder: Folder): Promise<void> {
    const since = clock.now() - UNUSED_MS;
    const wanted = [...folder.values()].filter((each) => isUsed(each) || each.takenAt > since);
    const needed = neededBy(wanted, folder);
    for (const each of [...folder.values()]) if (!needed.has(each.bundle)) await remove(each);
  }

  /** Takes contexts away from the bundles that they use. */
  async function leave(goes: (contextId: string, since: number) => boolean): Promise<boolean> {
    let isAny = false;
    for (const folder of folders.values()) {
      for (const stored of [...folder.values()]) {
        const before = Object.entries(stored.contexts);
        const left = before.filter(([contextId, since]) => !goes(contextId, since));
        if (left.length === before.length) continue;
        isAny = true;
        const takenAt = left.length === 0 ? 0 : stored.takenAt;
        await write({ ...stored, contexts: Object.fromEntries(left), takenAt });
      }
      await tidy(folder);
    }
    return isAny;
  }

  return {
    maxBytes: MAX_PACK_BYTES,
    async sent(caller) {
      const folder = of(folderOf(caller));
      return newestFirst(folder).map((stored) => {
        const { bundle, commit, repository } = stored;
        const chain = neededBy([stored], folder).size;
        return { bundle, commit, repository, chain, fromRepository: lackingIn(stored, folder) };
      });
    },
    async receiving() {
      requireRoom();
      return passing(dir);
    },
    async take(caller, { bundle, commit, repository }, file, signal) {
      requireRoom();
      const folder = folderOf(caller);
      const digest = await sha256Of(file, signal);
      if (digest !== bundle) throw refusedBundle(`what arrived has the SHA-256 ${digest}: send it again`);
      await using opened = await openBundle(file, commit);
      const { prerequisites } = opened;
      if (!of(folder).has(bundle)) {
        basesOf(of(folder), prerequisites, repository);
        await checkPack(git, opened, `${file}.git`, signal);
      }
      const { size: bytes } = await stat(file);
      await inTurn(async () => {
        signal.throwIfAborted();
        const known = of(folder).get(bundle);
        const takenAt = clock.now();
        if (known !== undefined) return write({ ...known, takenAt });
        const { bases, rest } = basesOf(of(folder), prerequisites, repository);
        await makeRoom(of(folder), bytes, bases);
        const buildsOn = bases.map((base) => base.bundle);
        const fromRepository = prerequisites.filter((each) => bases.every((base) => base.commit !== each));
        const record = { commit, repository: rest, bytes, buildsOn, fromRepository, takenAt, contexts: {} };
        const stored = { folder, bundle, ...record };
        await keepFile(file, stored);
        return write(stored);
      });
    },
    use: (caller, bundle, contextId) =>
      inTurn(async () => {
        const folder = folderOf(caller);
        const stored = of(folder).get(bundle);
        if (stored === undefined)
          throw new FleetError(
            'BUNDLE_REFUSED',
            `bundle ${bundle} is not here, or not any more: send it again`,
          );
        if (all().some((each) => each.folder !== folder && Object.hasOwn(each.contexts, contextId)))
          throw new FleetError(
            'BUNDLE_REFUSED',
            `context ${contextId} works on the checkout of another caller: start a new context`,
          );
        const contexts = { ...stored.contexts, [contextId]: clock.now() };
        if (Object.keys(contexts).length > MAX_CONTEXTS)
          throw new FleetError(
            'QUEUE_FULL',
            `${MAX_CONTEXTS} contexts work on this checkout: delete some that you need no more`,
            { retryable: false },
          );
        await write({ ...stored, contexts });
      }),
    open: (contextId, commit) =>
      inTurn(async (): Promise<ResultContent> => {
        for (const folder of folders.values()) {
          const usedAt = ({ contexts }: StoredBundle): number => contexts[contextId] ?? 0;
          const using = [...folder.values()].filter((each) => Object.hasOwn(each.contexts, contextId));
          // Several may bring the commit: the one that the last task named counts.
          const stored = using
            .sort((a, b) => usedAt(b) - usedAt(a))
            .flatMap((each) => [...neededBy([each], folder)])
            .map((bundle) => folder.get(bundle))
            .find((each) => each?.commit === commit);
          if (stored === undefined) continue;
          const copy = passing(dir);
          // The content stays while it is read, whatever becomes of the bundle.
          await link(bundleFile(stored), copy.file);
          return { path: copy.file, bytes: stored.bytes, [Symbol.asyncDispose]: copy[Symbol.asyncDispose] };
        }
        throw new FleetError('NO_RESULT', `no bundle of context ${contextId} brings commit ${commit}`);
      }),
    release: (contextId) => inTurn(() => leave((each) => each === contextId)),
    async sweep(hasTasks) {
      const since = clock.now() - UNUSED_MS;
      await inTurn(() => leave((contextId, usedAt) => usedAt <= since && !hasTasks(contextId)));
    },
    contexts: () => new Set(all().flatMap((each) => Object.keys(each.contexts))),
  };
}

const newestFirst = (folder: Folder): StoredBundle[] =>
  [...folder.values()].sort((a, b) => b.takenAt - a.takenAt);

const isUsed = ({ contexts }: StoredBundle): boolean => Object.keys(contexts).length > 0;
