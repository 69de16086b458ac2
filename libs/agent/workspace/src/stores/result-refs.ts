import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Log } from '@hermes-fleet/protocol/ports';
import { failureOf, type Git, linesOf } from '../git/git.ts';
import { deleteRefs, type Store } from './store.ts';

/** The commits that the store has of a context. */
export interface ContextRefs {
  /** The commit that the context started from. */
  readonly base: string | undefined;
  /** The commit of its result, undefined before the first one. */
  readonly tip: string | undefined;
}

const MAX_NAMES_BYTES = 64 * 1024 * 1024;

/** The branches with the results, and the commits that the contexts started from. */
export function createResultRefs(git: Git, store: Store, log: Log) {
  async function found(patterns: readonly string[]): Promise<Map<string, ContextRefs>> {
    const args = ['for-each-ref', '--format=%(refname) %(objectname)', ...patterns];
    const listed = await git.run(store.place, args, { keepBytes: MAX_NAMES_BYTES });
    const all = new Map<string, ContextRefs>();
    for (const line of linesOf(listed)) {
      const [ref = '', commit] = line.split(' ');
      for (const [of, key] of KINDS) {
        const name = ref.slice(of.length);
        // A branch of a deeper name is somebody else's.
        if (!ref.startsWith(of) || name.includes('/')) continue;
        all.set(name, { ...(all.get(name) ?? NONE), [key]: commit });
      }
    }
    return all;
  }

  return {
    refs: async (name: string): Promise<ContextRefs> =>
      (await found([branchRef(name), baseRef(name)])).get(name) ?? NONE,
    /** All contexts that the store knows, by name. */
    all: () => found([branchRef(''), baseRef('')]),
    /** The names, or this one, whose result is contained in `start`. A history that git cannot compare in time has none. */
    async mergedInto(start: string, name = ''): Promise<Set<string>> {
      const args = ['for-each-ref', `--merged=${start}`, '--format=%(refname)', branchRef(name)];
      const listed = await git.exec(store.place, args, { keepBytes: MAX_NAMES_BYTES });
      if (listed.exitCode === 0)
        return new Set(linesOf(listed.stdout).map((ref) => ref.slice(branchRef('').length)));
      log.warn(
        { start, ...failureOf(listed) },
        'git cannot tell which results are merged: none counts as merged',
      );
      return new Set();
    },
    /** When the branch last moved, in ms since the epoch, by the time of the gateway: the dates of commits are the task's. */
    async recordedAt(name: string): Promise<number> {
      // Git appends to the log of a ref with each move; packing refs leaves it alone.
      const file = join(store.dir, 'logs', branchRef(name));
      await mkdir(dirname(file), { recursive: true });
      // A branch whose log is gone gets a new one, so that its time begins now.
      await writeFile(file, '', { flag: 'a' });
      return (await stat(file)).mtimeMs;
    },
    /** Deletes what the store knows of the contexts. The objects stay until the store is repacked. */
    async delete(names: readonly string[]): Promise<void> {
      const refs = names.flatMap((name) => [branchRef(name), baseRef(name)]);
      await deleteRefs(git, store, refs, 'the results of removed contexts cannot be deleted');
    },
  };
}

/** The branch with the result of a context. */
export const branchOf = (name: string): string => `fleet/${name}`;

export const branchRef = (name: string): string => `refs/heads/${branchOf(name)}`;
/** Keeps the commit that a context started from. */
export const baseRef = (name: string): string => `refs/contexts/${name}`;

const NONE: ContextRefs = { base: undefined, tip: undefined };
const KINDS = [
  [branchRef(''), 'tip'],
  [baseRef(''), 'base'],
] as const;
