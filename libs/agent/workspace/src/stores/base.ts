import { chmod, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '@hermes-fleet/protocol/ports';
import type { CommandUser } from '../confinement/command-user.ts';
import { type Confinement, passDirectoryTo } from '../confinement/confinement.ts';
import { createCommittedFiles } from '../git/committed-files.ts';
import { type Git, linesOf } from '../git/git.ts';
import { BASES, baseRef, type Origin } from './origin.ts';
import { deleteRefs, isBroken, openStore, readShallow, type Store } from './store.ts';

export type Base = Awaited<ReturnType<typeof openBase>>;

export interface BaseOptions {
  readonly dir: string;
  /** The folder around `dir`, where one context alone uses the base: nobody but its user passes through it. */
  readonly privateIn?: string | undefined;
  readonly git: Git;
  readonly confinement: Confinement;
  readonly log: Log;
}

/** Opens where the commits of a base come from. */
export type OriginOf = (git: Git, store: Store) => Promise<Origin>;

/**
 * Opens the commits that new contexts start from: a bare repository, whose objects all contexts borrow. `originOf` says where the
 * commits come from.
 */
export async function openBase(options: BaseOptions, originOf: OriginOf) {
  const { git } = options;
  const store = await openStore({ ...options, readable: options.confinement.otherUser });
  const { place } = store;
  const origin = await originOf(git, store);
  let holders = 0;
  return {
    ...origin,
    /** The object folder. */
    objects: store.objects,
    /**
     * Opens a base that one context alone uses to the user of its commands, undefined where all commands have one user. It is closed to
     * all when nobody holds it any more: another context may get the user.
     */
    async giveTo(user: CommandUser | undefined): Promise<AsyncDisposable> {
      const { privateIn, confinement } = options;
      if (privateIn === undefined) return { [Symbol.asyncDispose]: async () => {} };
      holders += 1;
      await passDirectoryTo(privateIn, confinement.otherUser, user);
      return {
        async [Symbol.asyncDispose]() {
          holders -= 1;
          if (holders === 0) await chmod(privateIn, 0o700);
        },
      };
    },
    /** True when the base still has a commit that a context started from. */
    has: (commit: string) => git.ask(place, ['cat-file', '-e', `${commit}^{commit}`]),
    /** The files of a commit that is there. */
    files: (commit: string) => createCommittedFiles(git, place, commit, options.log),
    /** The commits whose parents are missing, because the repository that they come from is a shallow clone, or they were fetched so. */
    shallow: () => readShallow(store),
    /**
     * Forgets the commits that nothing started from, and makes many packs few. No object goes: repositories of contexts borrow
     * them, and results do.
     */
    async tidy(used: () => Promise<ReadonlySet<string>>): Promise<void> {
      const listed = await git.run(place, ['for-each-ref', '--format=%(objectname)', BASES]);
      const newest = origin.newest();
      const bases = linesOf(listed).filter((commit) => !newest.includes(commit));
      if (bases.length > 0) {
        const needed = await used();
        const refs = bases.filter((commit) => !needed.has(commit)).map(baseRef);
        await deleteRefs(git, store, refs, 'commits that nothing starts from cannot be forgotten');
      }
      const packs = (await readdir(join(store.objects, 'pack'))).filter((name) => name.endsWith('.pack'));
      if (packs.length < MANY_PACKS) return;
      const repack = (): Promise<unknown> => git.run(place, REPACK, { timeoutMs: REPACK_MS });
      await (origin.inTurn ? origin.inTurn(repack) : repack());
    },
    broken: () => isBroken(git, store),
  };
}

/** Each copy of a commit is a pack, and git looks for an object in all of them. */
const MANY_PACKS = 32;
/** Joins the small packs with all that is in them, used or not, and leaves the large ones alone. */
const REPACK = ['-c', 'repack.writeBitmaps=false', 'repack', '--geometric=2', '-d', '-q'];
const REPACK_MS = 30 * 60_000;

/** A repository of the profile's own, which begins with an empty commit. */
export async function ownOrigin(git: Git, store: Store): Promise<Origin> {
  const { place } = store;
  await begin(git, store);
  const head = async (): Promise<string> =>
    (await git.run(place, ['rev-parse', '--verify', 'HEAD^{commit}'])).trim();
  return {
    start: async () => ({ commit: await head() }),
    heads: async () => [await head()],
    newest: () => [],
    state: async () => ({
      branch: (await git.run(place, ['symbolic-ref', '--short', 'HEAD'])).trim(),
      clean: true,
    }),
  };
}

/** Makes the first commit of a base without any. */
async function begin(git: Git, { place }: Store): Promise<void> {
  if (await git.ask(place, ['rev-parse', '-q', '--verify', 'HEAD^{commit}'])) return;
  const tree = (await git.run(place, ['hash-object', '-t', 'tree', '-w', '/dev/null'])).trim();
  const commit = (await git.run(place, ['commit-tree', '-m', 'Start the workspace', tree])).trim();
  await git.run(place, ['update-ref', 'HEAD', commit]);
}
