import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log, RepoState } from '@hermes-fleet/protocol/ports';
import type { Confinement } from '../confinement/confinement.ts';
import { createCommittedFiles } from '../git/committed-files.ts';
import { type Git, type GitPlace, linesOf } from '../git/git.ts';
import { treeState } from '../git/tree-state.ts';
import { firstLine } from '../process/system-error.ts';
import { indexPack, receivePack } from './pack-file.ts';
import {
  deleteRefs,
  isBroken,
  OBJECT_ID,
  openStore,
  passing,
  readShallow,
  type Store,
  setShallow,
} from './store.ts';
import { unusable } from './users-repository.ts';

export type Base = Awaited<ReturnType<typeof openBase>>;

export interface BaseOptions {
  readonly dir: string;
  /** The user's repository, undefined when the base is the profile's own. */
  readonly source: Source | undefined;
  readonly git: Git;
  readonly confinement: Confinement;
  readonly log: Log;
}

/** A user's repository, which commands can only read. */
export type Source = ReturnType<typeof openSource>;

/**
 * Opens the commits that new contexts start from: a bare repository, whose objects all contexts borrow. One of the profile's own
 * begins with an empty commit; a user's repository is copied.
 */
export async function openBase(options: BaseOptions) {
  const { git, source } = options;
  const store = await openStore({ ...options, readable: options.confinement.otherUser });
  const { place } = store;
  const mirror = source && createMirror(git, store, source);
  let newest = await mirror?.();
  if (mirror === undefined) await begin(git, store);
  return {
    /** The object folder. */
    objects: store.objects,
    /**
     * Returns the commit that a new context starts from. Commits of the user's repository are copied first; throws
     * CONFIG_INVALID when it is not usable.
     */
    async start(): Promise<string> {
      newest = await mirror?.();
      return newest ?? (await git.run(place, ['rev-parse', '--verify', 'HEAD^{commit}'])).trim();
    },
    /** True when the base still has a commit that a context started from. */
    has: (commit: string) => git.ask(place, ['cat-file', '-e', `${commit}^{commit}`]),
    /** The files of a commit that is there. */
    files: (commit: string) => createCommittedFiles(git, place, commit, options.log),
    /** The commits whose parents are missing, because the user's repository is a shallow clone. */
    shallow: () => readShallow(store),
    /** The branch that contexts start from. Contexts are clean; `baseClean` has the working tree, if there is one. */
    async state(): Promise<RepoState> {
      if (source !== undefined) {
        const { branch, changed } = await treeState(git, source.place);
        return { branch, clean: true, baseClean: changed.length === 0 };
      }
      return { branch: (await git.run(place, ['symbolic-ref', '--short', 'HEAD'])).trim(), clean: true };
    },
    /**
     * Forgets the copied commits that nothing started from, and makes many packs few. The commit that was copied last stays, because a
     * context may be starting from it. No object goes: repositories of contexts borrow them, and results do.
     */
    async tidy(used: () => Promise<ReadonlySet<string>>): Promise<void> {
      const listed = await git.run(place, ['for-each-ref', '--format=%(objectname)', BASES]);
      const bases = linesOf(listed).filter((commit) => commit !== newest);
      if (bases.length > 0) {
        const needed = await used();
        const refs = bases.filter((commit) => !needed.has(commit)).map(baseRef);
        await deleteRefs(git, store, refs, 'commits that nothing starts from cannot be forgotten');
      }
      const packs = (await readdir(join(store.objects, 'pack'))).filter((name) => name.endsWith('.pack'));
      if (packs.length >= MANY_PACKS) await git.run(place, REPACK, { timeoutMs: REPACK_MS });
    },
    broken: () => isBroken(git, store),
  };
}

const BASES = 'refs/bases/';
/** Keeps a commit in the base for the contexts that started there, also when its branch has left it. */
const baseRef = (commit: string): string => BASES + commit;

/** Each copy of a commit is a pack, and git looks for an object in all of them. */
const MANY_PACKS = 32;
/** Joins the small packs with all that is in them, used or not, and leaves the large ones alone. */
const REPACK = ['-c', 'repack.writeBitmaps=false', 'repack', '--geometric=2', '-d', '-q'];
const REPACK_MS = 30 * 60_000;

/** Makes the first commit of a base without any. */
async function begin(git: Git, { place }: Store): Promise<void> {
  if (await git.ask(place, ['rev-parse', '-q', '--verify', 'HEAD^{commit}'])) return;
  const tree = (await git.run(place, ['hash-object', '-t', 'tree', '-w', '/dev/null'])).trim();
  const commit = (await git.run(place, ['commit-tree', '-m', 'Start the workspace', tree])).trim();
  await git.run(place, ['update-ref', 'HEAD', commit]);
}

/** Opens the user's repository for reading. */
export function openSource(dir: string, confinement: Confinement) {
  const reach = { writable: [], readOnly: [dir] };
  const wrap: GitPlace['wrap'] = (command, args) => confinement.wrap(command, args, reach);
  return { dir, place: { cwd: dir, gitDir: join(dir, '.git'), workTree: dir, wrap } };
}

/** For the first copy of a large repository. */
const COPY_MS = 30 * 60_000;

/** Returns a function that brings the commit which is checked out in the source into the store. One copy runs at a time. */
function createMirror(git: Git, store: Store, source: Source): () => Promise<string> {
  let running: Promise<unknown> = Promise.resolve();
  const has = (commit: string): Promise<boolean> =>
    git.ask(store.place, ['rev-parse', '-q', '--verify', `${baseRef(commit)}^{commit}`]);

  async function copy(commit: string): Promise<void> {
    const known = await git.run(store.place, ['for-each-ref', '--format=%(objectname)', 'refs/bases']);
    const args = [commit, ...linesOf(known)];
    await using pack = passing(store.dir);
    const { file } = pack;
    const limits = { file, timeoutMs: COPY_MS };
    const { result } = await receivePack(git, source.place, { text: PACK_NEW, args }, limits);
    if (result.exitCode !== 0)
      throw unusable(source.dir, `git cannot read it: ${firstLine(result.stderr, SILENT)}`);
    const taken = await indexPack(git, store.place, file, [], { timeoutMs: COPY_MS });
    if (taken.exitCode !== 0)
      throw unusable(source.dir, `its objects are damaged: ${firstLine(taken.stderr, SILENT)}`);
  }

  async function mirror(): Promise<string> {
    const { exitCode, stdout, stderr } = await git.script(source.place, HEAD, []);
    const [commit = '', ...shallow] = stdout.trimEnd().split('\n');
    if (exitCode !== 0) {
      const reason = 'it is not the top of a git repository with a commit that commands can read';
      throw unusable(source.dir, `${reason}: ${firstLine(stderr, SILENT)}`);
    }
    if (!OBJECT_ID.test(commit)) throw unusable(source.dir, 'its object format is not SHA-1');
    if (!(await has(commit))) {
      await copy(commit);
      // The source may have been deepened since, and the commits where earlier copies end stay without parents.
      await setShallow(store, [...new Set([...(await readShallow(store)), ...shallow])]);
      await git.run(store.place, ['update-ref', baseRef(commit), commit]);
    }
    return commit;
  }

  return () => {
    const next = running.then(mirror);
    running = next.catch(() => {});
    return next;
  };
}

/** Prints the commit and the file `shallow`. */
const HEAD = `git rev-parse --verify 'HEAD^{commit}' || exit
cat "$(git rev-parse --git-path shallow)" 2>/dev/null; true`;

/** Prints an empty line and a pack of the first commit without the history of the others, as far as they are there. */
const PACK_NEW = `echo; { echo "$1"; shift; for id; do git cat-file -e "$id" 2>/dev/null && echo "^$id"; done; } |
git pack-objects --revs --stdout -q`;

const SILENT = 'git says nothing';
