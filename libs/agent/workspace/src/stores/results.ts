import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { LEFT_OUT, NAMES, pathsOf, READABLE, shortened } from '../git/diff.ts';
import { failureOf, type Git, type GitPlace, linesOf } from '../git/git.ts';
import type { Base } from './base.ts';
import { addPacks, releaseKeptPacks } from './kept-packs.ts';
import { type LfsFiles, lfsFiles } from './lfs-files.ts';
import { receivePack } from './pack-file.ts';
import { examine, type TasksPack } from './quarantine.ts';
import { createRepacking } from './repack.ts';
import { authorEnv, type CommitSettings, commitFilesOf, type ResultCommit } from './result-commit.ts';
import { baseRef, branchRef, createResultRefs } from './result-refs.ts';
import { isBroken, openStore, passing, readShallow, setShallow } from './store.ts';

export type Results = Awaited<ReturnType<typeof openResults>>;

/** Embedded repositories of one result that are named. */
const MAX_EMBEDDED = 1000;
const MAX_NAMES_BYTES = 64 * 1024 * 1024;
/** A larger file has no readable diff. */
const DIFFED = ['-c', 'core.bigFileThreshold=1m'];

/** A pack that passed the checks, until it is disposed of. Each method throws INTERNAL. */
export interface CheckedPack extends AsyncDisposable {
  /** Sorted paths that differ from a commit to that of the pack, deleted ones included. */
  changed(from: string): Promise<string[]>;
  /** The repositories in its tree of which a result has no file, and which the other commit does not have so. */
  embedded(from: string): Promise<string[]>;
  /** The files that differ from a commit, and that `.gitattributes` gives to Git LFS, if there are any. */
  lfsFiles(from: string): Promise<LfsFiles | undefined>;
  /** Git's diff from a commit to that of the pack, cut to `maxChars`. */
  diff(from: string, maxChars: number): Promise<string>;
  /**
   * Makes its files the result of a context: one commit of the gateway on `parent`, the result that the task began from, or on the
   * base where the store has lost that. The commits of the task do not come into the store.
   */
  keep(name: string, commit: { readonly parent: string; readonly message: string }): Promise<ResultCommit>;
}

/** The results of all contexts: a bare repository with a branch `fleet/<context>` each, which no command can read. */
export async function openResults(options: {
  readonly dir: string;
  readonly base: Pick<Base, 'objects' | 'shallow'>;
  readonly git: Git;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly commits?: CommitSettings | undefined;
  readonly log: Log;
}) {
  const { git, log } = options;
  const commits = { ...options.commits, log };
  const baseObjects = options.base.objects;
  const store = await openStore({ ...options, borrows: baseObjects, readable: false });
  await releaseKeptPacks(store);
  const refs = createResultRefs(git, store, log);
  const repacking = createRepacking(git, store, options.clock);

  async function changed(place: GitPlace, from: string, to: string): Promise<string[]> {
    if (from === to) return [];
    const args = ['diff-tree', '-r', ...NAMES, from, to, ...LEFT_OUT];
    return pathsOf(await git.run(place, args, { keepBytes: MAX_NAMES_BYTES }));
  }

  /**
   * The repositories in the tree of a commit, at most `MAX_EMBEDDED`, of which a result has the id of a commit and no file,
   * and which the other commit does not have so.
   */
  async function embedded(place: GitPlace, from: string, to: string): Promise<string[]> {
    const compared = await git.script(place, EMBEDDED, [from, to]);
    const found = linesOf(compared.stdout);
    if (found.length <= MAX_EMBEDDED && found.pop() !== 'whole')
      log.error({ from, to, ...failureOf(compared) }, 'git failed to compare a result');
    return found.slice(0, MAX_EMBEDDED);
  }

  async function diff(place: GitPlace, from: string, to: string, maxChars: number): Promise<string> {
    const args = [...DIFFED, 'diff-tree', '-r', '-p', ...READABLE, from, to, ...LEFT_OUT];
    const compared = await git.exec(place, args);
    // A diff that is too long was ended by the limit; its beginning is there.
    if (compared.exitCode === 0 || compared.killed === 'output') return shortened(compared.stdout, maxChars);
    log.error(failureOf(compared), 'git failed to compare a result');
    throw new FleetError('INTERNAL', 'the changes of a task cannot be shown; the log has git’s output');
  }

  const has = (commit: string): Promise<boolean> =>
    git.ask(store.place, ['rev-parse', '-q', '--verify', `${commit}^{commit}`]);

  const isAncestor = (commit: string, of: string): Promise<boolean> =>
    git.ask(store.place, ['merge-base', '--is-ancestor', commit, of]);

  async function record(name: string, commit: string, base: string): Promise<void> {
    const both = [branchRef(name), commit, baseRef(name), base];
    if ((await git.script(store.place, SET_BOTH, both)).exitCode !== 0)
      throw new FleetError('INTERNAL', `the result of context ${name} cannot be recorded`);
  }

  return {
    ...refs,
    place: store.place,
    shallow: () => readShallow(store),
    /** True when a commit of a result, or of the base, is there. */
    has,
    passing: () => passing(store.dir),
    /** Checks a pack. Nothing of it is in the store before `keep`. Throws RefusedPack (`examine`). */
    async check(pack: TasksPack): Promise<CheckedPack> {
      const quarantine = await examine(git, { store, baseObjects }, pack);
      const { place, folder } = quarantine;
      return {
        changed: (from) => changed(place, from, pack.commit),
        embedded: (from) => embedded(place, from, pack.commit),
        lfsFiles: (from) => lfsFiles(git, place, { from, to: pack.commit, folder, log }),
        diff: (from, maxChars) => diff(place, from, pack.commit, maxChars),
        async keep(name, { parent, message }) {
          const into = join(folder, 'result');
          await mkdir(into);
          const onto = (await has(parent)) ? parent : pack.base;
          if (onto !== parent)
            log.error({ context: name, parent }, 'a result that another one is based on is lost');
          const of = { files: pack.commit, parent: onto, message, folder: into };
          const made = await commitFilesOf(git, place, of, commits);
          await using _kept = await addPacks(into, store);
          await setShallow(store, await options.base.shallow());
          await record(name, made.id, pack.base);
          return made;
        },
        [Symbol.asyncDispose]: () => quarantine[Symbol.asyncDispose](),
      };
    },
    embedded: (from: string, to: string) => embedded(store.place, from, to),
    /** Knows from then on which parents the base does not have. */
    takeShallow: async () => setShallow(store, await options.base.shallow()),
    isAncestor,
    /**
     * Merges `theirs` into `ours`, without a tree of files: where it does not contain `from`, which `ours` contains, what differs between
     * those two. Resolves with a commit on both, or with the paths that conflict. Throws INTERNAL.
     */
    async merge(of: { ours: string; from: string; theirs: string; message: string }) {
      const { ours, from, theirs, message } = of;
      const place = { ...store.place, env: authorEnv(commits) };
      const commit = async (tree: string, ...parents: string[]): Promise<string> => {
        const args = parents.flatMap((parent) => ['-p', parent]);
        return (await git.run(place, ['commit-tree', tree, ...args, '-m', message])).trim();
      };
      // Git has no option for the base of the merge before 2.40.
      const changes = (await isAncestor(from, theirs)) ? theirs : await commit(`${theirs}^{tree}`, from);
      const args = ['merge-tree', '--write-tree', '--name-only', '--no-messages', '-z', ours, changes];
      const merged = await git.exec(store.place, args);
      const [tree = '', ...paths] = merged.stdout.split('\0').filter((part) => part !== '');
      if (merged.exitCode === CONFLICTS) return paths;
      if (merged.exitCode === 0) return { commit: await commit(tree, ours, theirs) };
      log.error({ ours, theirs, ...failureOf(merged) }, 'git cannot merge a newer commit into a result');
      throw new FleetError('INTERNAL', 'a newer commit cannot be merged; the log has git’s output');
    },
    /** Makes a commit the result of a context, which is then based on another commit of the base. */
    moveTo: (name: string, commit: string, base: string) => record(name, commit, base),
    /** Writes the history of a result that the base lacks to a new file. */
    async give(file: string, commit: string, base: string): Promise<void> {
      const { result } = await receivePack(git, store.place, { text: PACK, args: [commit, base] }, { file });
      if (result.exitCode !== 0) throw new Error(`git cannot pack ${commit}: ${result.stderr.slice(0, 500)}`);
    },
    /** Sorted paths that differ between two commits, deleted ones included. */
    changed: (from: string, to: string) => changed(store.place, from, to),
    /** Deletes the results of contexts, and what they started from. Their objects stay until `prune`. */
    async delete(names: readonly string[]): Promise<void> {
      if (names.length > 0) await repacking.deleting(() => refs.delete(names));
    },
    /**
     * Removes the objects of deleted results, also of those that a crash or a failure left, and joins the packs when they are
     * many. Throws INTERNAL.
     */
    prune: repacking.run,
    /** Removes the objects of deleted results, or leaves them to the next `prune` when too little time has passed. Throws INTERNAL. */
    pruneInTurn: repacking.runInTurn,
    broken: () => isBroken(git, store),
  };
}

/** The exit code of `git merge-tree` for a merge with conflicts. */
const CONFLICTS = 1;
const SET_BOTH = `printf 'update %s %s\\n' "$@" | git update-ref --stdin`;
/** Prints paths, up to one more than `MAX_EMBEDDED`, and a last line when there are no more. */
const EMBEDDED = `{ git diff-tree -r --no-renames "$1" "$2" && echo whole; } |
grep -a -m ${MAX_EMBEDDED + 1} -e '^:[0-7]* 160000 ' -e '^whole$' | cut -f 2-; true`;
const PACK = `echo; printf '%s\\n^%s\\n' "$1" "$2" | git pack-objects --revs --stdout -q`;
