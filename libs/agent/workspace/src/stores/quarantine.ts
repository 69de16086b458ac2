import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git, GitPlace } from '../git/git.ts';
import { limited } from '../git/limited.ts';
import { firstLine } from '../process/system-error.ts';
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
const LIMITS = { dataKib: 2 * 1024 * 1024, cpuS: 120 };
const CHECK_MS = 10 * 60_000;

/** A pack that passed the checks, in a folder of its own, which goes when it is disposed of. */
export interface Quarantine extends AsyncDisposable {
  readonly folder: string;
  /** Git sees the pack, the base and the store here. */
  readonly place: GitPlace;
}

/**
 * Checks a task's pack in a folder of its own that sees nothing but the pack and the base: every object by its hash and
 * git's rules, the size of the files, and that no object is missing. A pack that names another context's objects lacks them
 * here, and is refused. Throws RefusedPack.
 */
export async function examine(
  git: Git,
  { store, baseObjects }: { readonly store: Store; readonly baseObjects: string },
  { file, commit, base }: TasksPack,
): Promise<Quarantine> {
  const folder = `${file}.objects`;
  await using opening = new AsyncDisposableStack();
  opening.defer(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, 'pack'), { recursive: true });
  const seeing = (...others: string[]): GitPlace => ({
    ...store.place,
    env: {
      GIT_OBJECT_DIRECTORY: folder,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: others.map((path) => JSON.stringify(path)).join(':'),
    },
    wrap: limited(LIMITS),
  });
  const place = seeing(baseObjects);
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
  const opened = opening.move();
  const beside = seeing(baseObjects, store.objects);
  return { folder, place: beside, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
