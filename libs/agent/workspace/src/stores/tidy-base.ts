import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Git, linesOf } from '../git/git.ts';
import { deleteRefs, type Store } from './store.ts';

const BASES = 'refs/bases/';
/** Keeps a commit in the base for the contexts that started there, also when its branch has left it. */
export const baseRef = (commit: string): string => BASES + commit;

/** Each copy of a commit is a pack, and git looks for an object in all of them. */
const MANY_PACKS = 32;
/** Joins the small packs with all that is in them, used or not, and leaves the large ones alone. */
const REPACK = ['-c', 'repack.writeBitmaps=false', 'repack', '--geometric=2', '-d', '-q'];
const REPACK_MS = 30 * 60_000;

/** See `Base.tidy`. The commit that was copied last stays, because a context may be starting from it. */
export async function tidyBase(
  git: Git,
  store: Store,
  used: () => Promise<ReadonlySet<string>>,
  newest?: string,
): Promise<void> {
  const listed = await git.run(store.place, ['for-each-ref', '--format=%(objectname)', BASES]);
  const bases = linesOf(listed).filter((commit) => commit !== newest);
  if (bases.length > 0) {
    const needed = await used();
    const refs = bases.filter((commit) => !needed.has(commit)).map(baseRef);
    await deleteRefs(git, store, refs, 'commits that nothing starts from cannot be forgotten');
  }
  const packs = (await readdir(join(store.objects, 'pack'))).filter((name) => name.endsWith('.pack'));
  if (packs.length >= MANY_PACKS) await git.run(store.place, REPACK, { timeoutMs: REPACK_MS });
}
