import { randomBytes } from 'node:crypto';
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isThere, unlessAbsent } from '../process/system-error.ts';
import type { Store } from './store.ts';

/** Content of the gateway's own `.keep` files. Those of other programs, as of a push, stay. */
const OURS = 'hermes-fleet: until a branch has it\n';

const packsOf = ({ objects }: Pick<Store, 'objects'>): string => join(objects, 'pack');

/**
 * Moves the packs of a folder into a store. A repack leaves them alone until the result is disposed of, which is to
 * happen when a branch has them. They get new names: a repack that runs removes the packs that it found by their names, and
 * would remove one that has just come with the same objects.
 */
export async function addPacks(from: string, store: Pick<Store, 'objects'>): Promise<AsyncDisposable> {
  const packs = packsOf(store);
  const keeps: string[] = [];
  const release = async (): Promise<void> => {
    for (const keep of keeps) await letGo(keep);
  };
  try {
    const names = await readdir(from);
    for (const pack of names.filter((name) => name.endsWith('.pack'))) {
      const old = pack.slice(0, -'.pack'.length);
      const made = join(packs, `pack-${randomBytes(20).toString('hex')}`);
      await writeFile(`${made}.keep`, OURS, { mode: 0o600 });
      keeps.push(`${made}.keep`);
      // The index comes last: git takes a pack for complete when it has one.
      for (const end of ['.pack', '.rev', '.idx'])
        if (names.includes(old + end)) await rename(join(from, old + end), made + end);
    }
  } catch (error) {
    await release();
    throw error;
  }
  return { [Symbol.asyncDispose]: release };
}

/** Lets go of what a crash kept, and removes what an ended repack left. Nothing else may use the store meanwhile. */
export async function releaseKeptPacks(store: Pick<Store, 'objects'>): Promise<void> {
  const packs = packsOf(store);
  for (const name of await readdir(packs)) {
    const path = join(packs, name);
    if (name.endsWith('.keep') && (await readFile(path, 'utf8')) === OURS) await letGo(path);
  }
  await removeUnfinishedPacks(store);
}

/** Removes a `.keep` file, after the parts of its pack if that has no index: git neither uses nor removes such a pack. */
async function letGo(keep: string): Promise<void> {
  const pack = keep.slice(0, -'.keep'.length);
  if (!(await isThere(`${pack}.idx`)))
    for (const end of ['.pack', '.rev']) await rm(pack + end, { force: true });
  await rm(keep, { force: true });
}

/** Removes the packs that a repack was writing when it was killed. No repack may run meanwhile. */
export async function removeUnfinishedPacks(store: Pick<Store, 'objects'>): Promise<void> {
  const packs = packsOf(store);
  for (const name of await readdir(packs)) if (name.startsWith('.tmp-')) await rm(join(packs, name));
}

/** The size of all packs of a store, and the number of those that a repack makes one. */
export async function measurePacks(
  store: Pick<Store, 'objects'>,
): Promise<{ readonly bytes: number; readonly joinable: number }> {
  const packs = packsOf(store);
  const names = new Set(await readdir(packs));
  let [bytes, joinable] = [0, 0];
  for (const name of names) {
    if (!name.endsWith('.pack')) continue;
    // It may have gone meanwhile.
    bytes += (await stat(join(packs, name)).catch(unlessAbsent))?.size ?? 0;
    if (!names.has(name.replace(/\.pack$/, '.keep'))) joinable += 1;
  }
  return { bytes, joinable };
}
