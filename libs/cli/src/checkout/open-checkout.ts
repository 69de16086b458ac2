import { statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { UsageError } from '../command-line/option-values.ts';
import { createGit, failure, type Git } from '../git/git.ts';
import { openRepository } from '../git/repository.ts';

/** A repository of the user whose last commit can be sent (docs/your-repository.md#my-checkout). */
export interface Checkout {
  /** In the root of the working tree, or in a bare repository. */
  readonly git: Git;
  /** The name of its folder. */
  readonly name: string;
  /** The root of the working tree; undefined in a bare repository. */
  readonly tree: string | undefined;
  /** The commit that is checked out. */
  readonly head: string;
}

/** The variables of a hook, or of a shell, that name another repository than that of the folder. */
const OF_ANOTHER = new Set([
  ...['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_OBJECT_DIRECTORY', 'GIT_COMMON_DIR'],
  ...['GIT_ALTERNATE_OBJECT_DIRECTORIES', 'GIT_NAMESPACE', 'GIT_PREFIX', 'GIT_SHALLOW_FILE'],
]);

/** The history as it is, without replacements of commits, and without a change of the user's index by questions. */
const PLAIN = { GIT_NO_REPLACE_OBJECTS: '1', GIT_OPTIONAL_LOCKS: '0' };

/** Throws UsageError for what is no folder, and INVALID_PARAMS that names what of the repository cannot be sent, with the remedy. */
export async function openCheckout(
  env: NodeJS.ProcessEnv,
  path: string,
  signal: AbortSignal,
): Promise<Checkout> {
  const folder = resolve(path);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`--repo ${path} is no folder: nothing was sent`);
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !OF_ANOTHER.has(name)));
  const git = createGit({ ...own, ...PLAIN }, folder, signal);
  const { tree, isBare } = await openRepository(git, {
    none: '--repo takes the folder of a checkout',
    sha256: 'it cannot be sent; copy its files into a repository of SHA-1',
  });
  const refused = (why: string) => failure(`the repository of ${folder} ${why}`);
  if (!isBare && tree === undefined) throw refused('is named by its .git folder: name its working tree');
  const isShallow = await git.read(['rev-parse', '--is-shallow-repository'], 'git does not answer');
  if (isShallow === 'true')
    throw refused('is shallow, so its history is not all here: git fetch --unshallow gets it');
  if (await git.ask(['config', '--get-regexp', '^(extensions\\.partialclone|remote\\..*\\.promisor)$']))
    throw refused('is a partial clone, so its files are not all here: clone it again without --filter');
  const head = await git.exec(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  if (head.code !== 0) throw refused('has no commit that can be sent: make one with git commit');
  const root = tree ?? folder;
  const name = basename(root) === '.git' ? basename(dirname(root)) : basename(root);
  return { git: git.in(root), name, tree, head: head.stdout.trim() };
}
