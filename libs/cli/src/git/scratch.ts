import { lstat, mkdtemp, readdir, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemCode } from '@hermes-fleet/protocol';
import { failure } from './git.ts';

const PREFIX = 'fleet-git-';
/** Longer than any command runs. */
const LEFT_MS = 24 * 60 * 60 * 1000;

/**
 * Works in a folder for temporary files, which is removed afterwards; those that killed commands of this user left are removed first.
 * Throws INVALID_PARAMS where there is no room for them.
 */
export async function inScratch<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const dir = tmpdir();
  await removeLeft(dir);
  let folder: string | undefined;
  try {
    folder = await mkdtemp(join(dir, PREFIX));
    return await work(folder);
  } catch (error) {
    if (!['ENOSPC', 'EDQUOT'].includes(systemCode(error) ?? '')) throw error;
    const { bavail, bsize } = await statfs(dir);
    const room = `${Math.floor((bavail * bsize) / 2 ** 20)} MiB`;
    throw failure(
      `${dir} has too little room for temporary files (${room}): TMPDIR names another folder`,
      error,
    );
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}

async function removeLeft(dir: string): Promise<void> {
  for (const name of await readdir(dir)) {
    if (!name.startsWith(PREFIX)) continue;
    const path = join(dir, name);
    const found = await lstat(path).catch((error: unknown) => {
      if (systemCode(error) === 'ENOENT') return undefined;
      throw error;
    });
    const isLeft = found?.isDirectory() && found.uid === process.getuid?.() && isOld(found.mtimeMs);
    if (isLeft) await rm(path, { recursive: true, force: true });
  }
}

const isOld = (changedMs: number): boolean => Date.now() - changedMs > LEFT_MS;
