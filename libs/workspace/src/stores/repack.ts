import { rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isThere } from '../files/is-there.ts';
import type { Git } from '../git/git.ts';
import { removeUnfinishedPacks } from './kept-packs.ts';
import type { Store } from './store.ts';

/** Removes the objects of a store that no branch has any more. */
export interface Repacking {
  /** Deletes branches. Before that, it is recorded durably that their objects are to go. */
  deleting(work: () => Promise<void>): Promise<void>;
  /** Repacks when that is wanted. Resolves when what was wanted before the call is gone; throws INTERNAL. */
  run(): Promise<void>;
  /** Makes all packs one, and removes what no branch has. */
  now(): Promise<void>;
}

/** In the store: a repack is wanted. */
const WANTED = 'repack-wanted';
const REPACK_MS = 10 * 60_000;
/** A push may have written a younger object for a branch that is not there yet. */
const PRUNE = '--expire=1.hour.ago';
const REPACK = ['-c', 'repack.writeBitmaps=false', 'repack', '-a', '-d', '-l', '-q'];

/** Results may arrive at any time: their packs are kept until a branch has them (kept-packs.ts). */
export function createRepacking(git: Git, store: Store): Repacking {
  const wanted = join(store.dir, WANTED);
  /** The beginnings and ends of deletions, and those that are under way. */
  let changes = 0;
  let pending = 0;
  let last: Promise<void> = Promise.resolve();
  /** The run that has not begun; it serves everybody who asks until then. */
  let next: Promise<void> | undefined;

  async function repack(): Promise<void> {
    const before = changes;
    await removeUnfinishedPacks(store);
    await git.run(store.place, REPACK, { timeoutMs: REPACK_MS });
    await git.run(store.place, ['prune', PRUNE], { timeoutMs: REPACK_MS });
    // A deletion that overlaps may be too late for this repack. No other can begin between this look and the removal.
    if (changes === before && pending === 0) rmSync(wanted, { force: true });
  }

  function now(): Promise<void> {
    next ??= last
      .catch(() => {})
      .then(() => {
        next = undefined;
        return repack();
      });
    last = next;
    return next;
  }

  return {
    now,
    async deleting(work) {
      changes += 1;
      pending += 1;
      try {
        await writeFile(wanted, '', { flush: true });
        await work();
      } finally {
        pending -= 1;
        changes += 1;
      }
    },
    async run() {
      if (await isThere(wanted)) await now();
    },
  };
}
