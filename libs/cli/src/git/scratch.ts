import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemCode } from '@hermes-fleet/protocol';

const PREFIX = 'fleet-git-';
/** Longer than any command runs. */
const LEFT_MS = 24 * 60 * 60 * 1000;

/** Works in a folder for temporary files, which is removed afterwards; those that killed commands of this user left are removed first. */
export async function inScratch<T>(work: (folder: string) => Promise<T>): Promise<T> {
  await removeLeft(tmpdir());
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
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
