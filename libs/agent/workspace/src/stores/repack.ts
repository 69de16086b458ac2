import { rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Git } from '../git/git.ts';
import { isThere } from '../process/system-error.ts';
import { measurePacks, removeUnfinishedPacks } from './kept-packs.ts';
import type { Store } from './store.ts';

/** In the store: a repack is wanted. */
const WANTED = 'repack-wanted';
const REPACK_MS = 10 * 60_000;
/** The slowest disk that is waited for. */
const BYTES_PER_MS = 1000;
/** A repack reads all results: those for deletions take at most one part in so many of the time. */
const SHARE = 20;
/** Each result is a pack, and git looks for an object in all of them. */
const MANY_PACKS = 32;
/** A push may have written a younger object for a branch that is not there yet. */
const PRUNE = '--expire=1.hour.ago';
const REPACK = ['-c', 'repack.writeBitmaps=false', 'repack', '-a', '-d', '-l', '-q'];

/**
 * Removes the objects of a store that no branch has any more. Results may arrive at any time: their packs are kept until a branch
 * has them (kept-packs.ts).
 */
export function createRepacking(git: Git, store: Store, clock: Pick<Clock, 'monotonic'>) {
  const wanted = join(store.dir, WANTED);
  /** The beginnings and ends of deletions, and those that are under way. */
  let changes = 0;
  let pending = 0;
  let last: Promise<void> = Promise.resolve();
  /** The run that has not begun; it serves everybody who asks until then. */
  let next: Promise<void> | undefined;
  let isRunning = false;
  let notBefore = 0;

  async function repack(): Promise<void> {
    const before = changes;
    await removeUnfinishedPacks(store);
    const timeoutMs = REPACK_MS + Math.ceil((await measurePacks(store)).bytes / BYTES_PER_MS);
    await git.run(store.place, REPACK, { timeoutMs });
    await git.run(store.place, ['prune', PRUNE], { timeoutMs });
    // A deletion that overlaps may be too late for this repack. No other can begin between this look and the removal.
    if (changes === before && pending === 0) rmSync(wanted, { force: true });
  }

  async function repackOnce(): Promise<void> {
    next = undefined;
    isRunning = true;
    const startedAt = clock.monotonic();
    try {
      await repack();
    } finally {
      const endedAt = clock.monotonic();
      notBefore = endedAt + (endedAt - startedAt) * SHARE;
      isRunning = false;
    }
  }

  /** Makes all packs one, and removes what no branch has. */
  function now(): Promise<void> {
    next ??= last.catch(() => {}).then(repackOnce);
    last = next;
    return next;
  }

  return {
    now,
    /** Deletes branches. Before that, it is recorded durably that their objects are to go. */
    async deleting(work: () => Promise<void>): Promise<void> {
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
    /**
     * Repacks when that is wanted, or when there are many packs. Resolves when what was wanted before the call is gone; throws
     * INTERNAL.
     */
    async run(): Promise<void> {
      if ((await isThere(wanted)) || (await measurePacks(store)).joinable >= MANY_PACKS) await now();
    },
    /**
     * Repacks when that is wanted, but not while a repack is under way, and not until 20 times as long as the last one took has
     * passed since: then the next `run` does it, also after a restart. Throws INTERNAL.
     */
    async runInTurn(): Promise<void> {
      if (!(await isThere(wanted))) return;
      // One that has not begun will serve this call, too.
      const isDue = next !== undefined || (!isRunning && clock.monotonic() >= notBefore);
      if (isDue) await now();
    },
  };
}
