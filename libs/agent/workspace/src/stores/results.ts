import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { LEFT_OUT, NAMES, pathsOf, READABLE, shortened } from '../git/diff.ts';
import { failureOf, type Git, linesOf } from '../git/git.ts';
import type { Base } from './base.ts';
import { releaseKeptPacks } from './kept-packs.ts';
import { receivePack } from './pack-file.ts';
import { examine, type TasksPack } from './quarantine.ts';
import { createRepacking } from './repack.ts';
import { baseRef, branchRef, createResultRefs } from './result-refs.ts';
import { isBroken, openStore, passing, setShallow } from './store.ts';

export type Results = Awaited<ReturnType<typeof openResults>>;

/** Embedded repositories of one result that are named. */
const MAX_EMBEDDED = 1000;
const MAX_NAMES_BYTES = 64 * 1024 * 1024;
/** A larger file has no readable diff. */
const DIFFED = ['-c', 'core.bigFileThreshold=1m'];

/** The results of all contexts: a bare repository with a branch `fleet/<context>` each, which no command can read. */
export async function openResults(options: {
  readonly dir: string;
  readonly base: Pick<Base, 'objects' | 'shallow'>;
  readonly git: Git;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
}) {
  const { git, log } = options;
  const baseObjects = options.base.objects;
  const store = await openStore({ ...options, borrows: baseObjects, readable: false });
  await releaseKeptPacks(store);
  const refs = createResultRefs(git, store, log);
  const repacking = createRepacking(git, store, options.clock);
  const checked = { store, baseObjects };

  return {
    ...refs,
    passing: () => passing(store),
    /** Makes the pack's commit the context's result. Throws RefusedPack (`examine`), and changes nothing then. */
    async takeOver(name: string, pack: TasksPack): Promise<void> {
      await examine(git, checked, pack, async ({ keep }) => {
        await using _kept = await keep();
        await setShallow(store, await options.base.shallow());
        const both = [branchRef(name), pack.commit, baseRef(name), pack.base];
        if ((await git.script(store.place, SET_BOTH, both)).exitCode !== 0)
          throw new FleetError('INTERNAL', `the result of context ${name} cannot be recorded`);
      });
    },
    /**
     * The repositories in the tree of a commit, at most `MAX_EMBEDDED`, of which a result has the id of a commit and no file,
     * and which the other commit does not have so.
     */
    async embedded(from: string, to: string): Promise<string[]> {
      const compared = await git.script(store.place, EMBEDDED, [from, to]);
      const found = linesOf(compared.stdout);
      if (found.length <= MAX_EMBEDDED && found.pop() !== 'whole')
        log.error({ from, to, ...failureOf(compared) }, 'git failed to compare a result');
      return found.slice(0, MAX_EMBEDDED);
    },
    /** Writes the history of a result that the base lacks to a new file. */
    async give(file: string, commit: string, base: string): Promise<void> {
      const { result } = await receivePack(git, store.place, { text: PACK, args: [commit, base] }, { file });
      if (result.exitCode !== 0) throw new Error(`git cannot pack ${commit}: ${result.stderr.slice(0, 500)}`);
    },
    /** Sorted paths that differ between two commits, deleted ones included. */
    async changed(from: string, to: string): Promise<string[]> {
      if (from === to) return [];
      const args = ['diff-tree', '-r', ...NAMES, from, to, ...LEFT_OUT];
      return pathsOf(await git.run(store.place, args, { keepBytes: MAX_NAMES_BYTES }));
    },
    /** Git's diff from a commit to that of a pack, which is not kept, cut to `maxChars`. Throws RefusedPack. */
    diff: (from: string, pack: TasksPack, maxChars: number): Promise<string> =>
      examine(git, checked, pack, async ({ place }) => {
        const alternates = [baseObjects, store.objects].map((path) => JSON.stringify(path)).join(':');
        const here = { ...place, env: { ...place.env, GIT_ALTERNATE_OBJECT_DIRECTORIES: alternates } };
        const args = [...DIFFED, 'diff-tree', '-r', '-p', ...READABLE, from, pack.commit, ...LEFT_OUT];
        const compared = await git.exec(here, args);
        // A diff that is too long was ended by the limit; its beginning is there.
        if (compared.exitCode === 0 || compared.killed === 'output')
          return shortened(compared.stdout, maxChars);
        log.error(failureOf(compared), 'git failed to compare a result');
        throw new FleetError('INTERNAL', 'the changes of a task cannot be shown; the log has git’s output');
      }),
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

const SET_BOTH = `printf 'update %s %s\\n' "$@" | git update-ref --stdin`;
/** Prints paths, up to one more than `MAX_EMBEDDED`, and a last line when there are no more. */
const EMBEDDED = `{ git diff-tree -r --no-renames "$1" "$2" && echo whole; } |
grep -a -m ${MAX_EMBEDDED + 1} -e '^:[0-7]* 160000 ' -e '^whole$' | cut -f 2-; true`;
const PACK = `echo; printf '%s\\n^%s\\n' "$1" "$2" | git pack-objects --revs --stdout -q`;
