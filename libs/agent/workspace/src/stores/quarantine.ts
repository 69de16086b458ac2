import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git, GitPlace } from '../git/git.ts';
import { firstLine } from '../process/system-error.ts';
import { addPacks } from './kept-packs.ts';
import { indexPack } from './pack-file.ts';
import type { Store } from './store.ts';

/** A pack that a task wrote, and what it is said to have. */
export interface TasksPack {
  readonly file: string;
  readonly commit: string;
  /** A commit of the base. The pack has everything since. */
  readonly base: string;
}

/** Thrown for a pack that is not taken; the message is the reason, for people. */
export class RefusedPack extends Error {
  override readonly name = 'RefusedPack';
}

export const MAX_PACK_BYTES = 1024 * 1024 * 1024;
/** A larger file stays out of results. */
export const MAX_FILE_BYTES = 100 * 1024 * 1024;
const MAX_DATA_KIB = 2 * 1024 * 1024;
const MAX_CPU_S = 120;
const CHECK_MS = 10 * 60_000;

/**
 * Checks a task's pack in a folder of its own that sees nothing but the pack and the base: every object by its hash and
 * git's rules, the size of the files, and that no object is missing. A pack that names another context's objects lacks them
 * here, and is refused. Throws RefusedPack. The folder is removed in the end.
 */
export async function examine<T>(
  git: Git,
  { store, baseObjects }: { readonly store: Store; readonly baseObjects: string },
  { file, commit, base }: TasksPack,
  use: (checked: {
    /** Git sees the pack and the base here. */
    readonly place: GitPlace;
    /** Adds the pack to the store, where it stays until the result is disposed of; from then on, a branch must have it. */
    keep(): Promise<AsyncDisposable>;
  }) => Promise<T>,
): Promise<T> {
  const folder = `${file}.objects`;
  await mkdir(join(folder, 'pack'), { recursive: true });
  const place: GitPlace = {
    ...store.place,
    env: { GIT_OBJECT_DIRECTORY: folder, GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(baseObjects) },
    wrap: (command, args) => ({ command: '/bin/sh', args: ['-c', LIMITED, 'sh', command, ...args] }),
  };
  try {
    const strict = ['--strict', '--fsck-objects', `--max-input-size=${MAX_PACK_BYTES}`];
    const indexed = await indexPack(git, place, file, strict, { timeoutMs: CHECK_MS });
    if (indexed.exitCode !== 0)
      throw new RefusedPack(
        `git refuses its objects: ${firstLine(indexed.stderr, 'git was stopped by a limit of memory or time')}`,
      );
    // The filter leaves out what has the size of its limit, too.
    const walk = ['rev-list', '--objects', '--quiet', `--filter=blob:limit=${MAX_FILE_BYTES + 1}`];
    const args = [...walk, '--filter-print-omitted', `${commit}^{commit}`, `^${base}`];
    const whole = await git.exec(place, args, { timeoutMs: CHECK_MS });
    if (whole.exitCode !== 0)
      throw new RefusedPack(
        `objects are missing: ${firstLine(whole.stderr, 'git was stopped by a limit of memory or time')}`,
      );
    if (whole.stdout.includes('~')) throw new RefusedPack(`a file is larger than ${MAX_FILE_BYTES} bytes`);
    return await use({ place, keep: () => addPacks(join(folder, 'pack'), store) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A hostile pack may need more memory or time than its size shows. */
const LIMITED = `ulimit -d ${MAX_DATA_KIB}; ulimit -t ${MAX_CPU_S}; exec "$@"`;
