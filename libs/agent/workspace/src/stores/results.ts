import { rm } from 'node:fs/promises';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { LEFT_OUT, NAMES, pathsOf, READABLE, shortened } from '../git/diff.ts';
import type { Git } from '../git/git.ts';
import type { Base } from './base.ts';
import { releaseKeptPacks } from './kept-packs.ts';
import { receivePack } from './pack-file.ts';
import { examine, type TasksPack } from './quarantine.ts';
import { createRepacking } from './repack.ts';
import { baseRef, branchRef, createResultRefs, type ResultRefs } from './result-refs.ts';
import { isBroken, openStore, passing, setShallow } from './store.ts';

/** The results of all contexts: a bare repository with a branch `fleet/<context>` each, which no command can read. */
export interface Results extends Omit<ResultRefs, 'delete'> {
  /** A new path for a pack of a task. The file is removed by `forget`. */
  passing(): string;
  forget(file: string): Promise<void>;
  /** Makes the pack's commit the context's result. Throws RefusedPack (`examine`), and changes nothing then. */
  take(name: string, pack: TasksPack): Promise<void>;
  /**
   * The repositories in the tree of a commit, at most `MAX_EMBEDDED`, of which a result has the id of a commit and no file,
   * and which the other commit does not have so.
   */
  embedded(from: string, to: string): Promise<string[]>;
  /** Writes the history of a result that the base lacks to a new file. */
  give(file: string, commit: string, base: string): Promise<void>;
  /** Sorted paths that differ between two commits, deleted ones included. */
  changed(from: string, to: string): Promise<string[]>;
  /** Git's diff from a commit to that of a pack, which is not kept, cut to `maxChars`. Throws RefusedPack. */
  diff(from: string, pack: TasksPack, maxChars: number): Promise<string>;
  /** Deletes the results of contexts, and what they started from. Their objects stay until `prune`. */
  delete(names: readonly string[]): Promise<void>;
  /**
   * Removes the objects of deleted results, also of those that a crash or a failure left, and joins the packs when they are
   * many. Throws INTERNAL.
   */
  prune(): Promise<void>;
  /** Removes the objects of deleted results, or leaves them to the next `prune` when too little time has passed. Throws INTERNAL. */
  pruneInTurn(): Promise<void>;
  broken(): Promise<boolean>;
}

/** Embedded repositories of one result that are named. */
const MAX_EMBEDDED = 1000;
const MAX_NAMES_BYTES = 64 * 1024 * 1024;
/** A larger file has no readable diff. */
const DIFFED = ['-c', 'core.bigFileThreshold=1m'];

export async function openResults(options: {
  readonly dir: string;
  readonly base: Pick<Base, 'objects' | 'shallow'>;
  readonly git: Git;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
}): Promise<Results> {
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
    forget: (file) => rm(file, { force: true }),
    async take(name, pack) {
      await examine(git, checked, pack, async ({ keep }) => {
        await using _kept = await keep();
        await setShallow(store, await options.base.shallow());
        const both = [branchRef(name), pack.commit, baseRef(name), pack.base];
        if ((await git.script(store.place, SET_BOTH, both)) !== 0)
          throw new FleetError('INTERNAL', `the result of context ${name} cannot be recorded`);
      });
    },
    async embedded(from, to) {
      const { stdout, stderr } = await git.exec(store.place, '/bin/sh', ['-c', EMBEDDED, 'sh', from, to]);
      const found = stdout.split('\n').filter((path) => path !== '');
      if (found.length <= MAX_EMBEDDED && found.pop() !== 'whole')
        log.error({ from, to, stderr: stderr.slice(0, 2000) }, 'git failed to compare a result');
      return found.slice(0, MAX_EMBEDDED);
    },
    async give(file, commit, base) {
      const script = { text: PACK, args: [commit, base] };
      const { result } = await receivePack(git, store.place, script, {
        file,
        maxBytes: Number.MAX_SAFE_INTEGER,
      });
      if (result.exitCode !== 0) throw new Error(`git cannot pack ${commit}: ${result.stderr.slice(0, 500)}`);
    },
    async changed(from, to) {
      if (from === to) return [];
      const args = ['diff-tree', '-r', ...NAMES, from, to, ...LEFT_OUT];
      return pathsOf(await git.run(store.place, args, { keepBytes: MAX_NAMES_BYTES }));
    },
    diff: (from, pack, maxChars) =>
      examine(git, checked, pack, async ({ place }) => {
        const alternates = [baseObjects, store.objects].map((path) => JSON.stringify(path)).join(':');
        const here = { ...place, env: { ...place.env, GIT_ALTERNATE_OBJECT_DIRECTORIES: alternates } };
        const args = [...DIFFED, 'diff-tree', '-r', '-p', ...READABLE, from, pack.commit, ...LEFT_OUT];
        const { exitCode, killed, stdout, stderr } = await git.exec(here, 'git', args);
        // A diff that is too long was ended by the limit; its beginning is there.
        if (exitCode === 0 || killed === 'output') return shortened(stdout, maxChars);
        log.error({ exitCode, killed, stderr: stderr.slice(0, 2000) }, 'git failed to compare a result');
        throw new FleetError('INTERNAL', 'the changes of a task cannot be shown; the log has git’s output');
      }),
    async delete(names) {
      if (names.length === 0) return;
      await repacking.deleting(() => refs.delete(names));
    },
    prune: repacking.run,
    pruneInTurn: repacking.runInTurn,
    broken: () => isBroken(git, store),
  };
}

const SET_BOTH = `printf 'update %s %s\\n' "$@" | git update-ref --stdin`;
/** Prints paths, up to one more than `MAX_EMBEDDED`, and a last line when there are no more. */
const EMBEDDED = `{ git diff-tree -r --no-renames "$1" "$2" && echo whole; } |
grep -a -m ${MAX_EMBEDDED + 1} -e '^:[0-7]* 160000 ' -e '^whole$' | cut -f 2-; true`;
const PACK = `echo; printf '%s\\n^%s\\n' "$1" "$2" | git pack-objects --revs --stdout -q`;
