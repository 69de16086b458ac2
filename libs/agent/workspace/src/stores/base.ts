import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '@hermes-fleet/protocol/ports';
import type { Confinement } from '../confinement/confinement.ts';
import { type CommittedFiles, createCommittedFiles } from '../git/committed-files.ts';
import { type Git, type GitPlace, linesOf } from '../git/git.ts';
import { type TreeState, treeState } from '../git/tree-state.ts';
import { firstLine } from '../process/system-error.ts';
import { indexPack, receivePack } from './pack-file.ts';
import { isBroken, OBJECT_ID, openStore, passing, readShallow, type Store, setShallow } from './store.ts';
import { baseRef, tidyBase } from './tidy-base.ts';
import { unusable } from './users-repository.ts';

/** The commits that new contexts start from: a bare repository, whose objects all contexts borrow. */
export interface Base {
  /** The object folder. */
  readonly objects: string;
  /**
   * Returns the commit that a new context starts from. Commits of the user's repository are copied first; throws
   * CONFIG_INVALID when it is not usable.
   */
  start(): Promise<string>;
  /** True when the base still has a commit that a context started from. */
  has(commit: string): Promise<boolean>;
  /** The files of a commit that is there. */
  files(commit: string): CommittedFiles;
  /** The commits whose parents are missing, because the user's repository is a shallow clone. */
  shallow(): Promise<string[]>;
  /** The branch that contexts start from, and whether its working tree, if there is one, is clean. */
  state(): Promise<TreeState>;
  /**
   * Forgets the copied commits that nothing started from, and makes many packs few. No object goes: repositories of contexts
   * borrow them, and results do.
   */
  tidy(used: () => Promise<ReadonlySet<string>>): Promise<void>;
  broken(): Promise<boolean>;
}

export interface BaseOptions {
  readonly dir: string;
  /** The user's repository, undefined when the base is the profile's own. */
  readonly source: Source | undefined;
  readonly git: Git;
  readonly confinement: Confinement;
  readonly log: Log;
}

/** A user's repository, which commands can only read. */
export interface Source {
  readonly dir: string;
  readonly place: GitPlace & { readonly gitDir: string };
}

/** Opens the base. One of the profile's own begins with an empty commit; a user's repository is copied. */
export async function openBase(options: BaseOptions): Promise<Base> {
  const { git, source } = options;
  const readable = options.confinement.otherUser;
  const store = await openStore({ ...options, readable });
  const common = {
    objects: store.objects,
    has: (commit: string) => git.ask(store.place, ['cat-file', '-e', `${commit}^{commit}`]),
    files: (commit: string) => createCommittedFiles(git, store.place, commit, options.log),
    shallow: () => readShallow(store),
    broken: () => isBroken(git, store),
  };
  if (source === undefined) {
    await begin(git, store);
    return {
      ...common,
      tidy: (used) => tidyBase(git, store, used),
      start: async () => (await git.run(store.place, ['rev-parse', '--verify', 'HEAD^{commit}'])).trim(),
      state: async () => ({
        branch: (await git.run(store.place, ['symbolic-ref', '--short', 'HEAD'])).trim(),
        clean: true,
      }),
    };
  }
  const mirror = createMirror(git, store, source);
  let newest = await mirror();
  return {
    ...common,
    async start() {
      newest = await mirror();
      return newest;
    },
    tidy: (used) => tidyBase(git, store, used, newest),
    state: () => treeState(git, source.place),
  };
}

/** Makes the first commit of a base without any. */
async function begin(git: Git, { place }: Store): Promise<void> {
  if (await git.ask(place, ['rev-parse', '-q', '--verify', 'HEAD^{commit}'])) return;
  const tree = (await git.run(place, ['hash-object', '-t', 'tree', '-w', '/dev/null'])).trim();
  const commit = (await git.run(place, ['commit-tree', '-m', 'Start the workspace', tree])).trim();
  await git.run(place, ['update-ref', 'HEAD', commit]);
}

/** Opens the user's repository for reading. */
export function openSource(dir: string, confinement: Confinement): Source {
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
    const file = passing(store);
    const limits = { file, timeoutMs: COPY_MS };
    try {
      const { result } = await receivePack(git, source.place, { text: PACK_NEW, args }, limits);
      if (result.exitCode !== 0)
        throw unusable(source.dir, `git cannot read it: ${firstLine(result.stderr, SILENT)}`);
      const taken = await indexPack(git, store.place, file, [], { timeoutMs: COPY_MS });
      if (taken.exitCode !== 0)
        throw unusable(source.dir, `its objects are damaged: ${firstLine(taken.stderr, SILENT)}`);
    } finally {
      await rm(file, { force: true });
    }
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
