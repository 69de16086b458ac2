import { resolve } from 'node:path';
import { failure, type Git, saidBy } from './git.ts';

/** The repository of a folder. */
export interface Repository {
  readonly git: Git;
  /** The root of the working tree; undefined in a bare repository and inside of `.git`. */
  readonly tree: string | undefined;
  readonly isBare: boolean;
  /** The store of its objects. */
  readonly objects: string;
  /** No branch has a commit. */
  readonly isEmpty: boolean;
  /** There is a last commit, that of HEAD. */
  readonly hasHead: boolean;
}

/** What to do about a repository that cannot be used. */
export interface Remedies {
  /** There is none. */
  readonly none: string;
  /** Its commits are of SHA-256. */
  readonly sha256: string;
}

/** Throws INVALID_PARAMS where there is no repository that git takes, and for one whose commits the fleet does not have. */
export async function openRepository(git: Git, remedies: Remedies): Promise<Repository> {
  const { code, stdout, stderr } = await git.exec([
    'rev-parse',
    ...['--is-bare-repository', '--is-inside-work-tree', '--show-object-format'],
  ]);
  if (code !== 0)
    throw failure(`${git.cwd} is in no repository that git takes (${saidBy(stderr)}): ${remedies.none}`);
  const [isBare, isInTree, format] = stdout.split('\n');
  if (format === 'sha256')
    throw failure(
      `the repository of ${git.cwd} has commits of SHA-256, and the fleet those of SHA-1: ${remedies.sha256}`,
    );
  const store = await git.read(['rev-parse', '--git-path', 'objects'], 'git names no store of objects');
  const hasHead = await git.ask(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  const refs = await git.read(['for-each-ref', '--count=1'], 'git does not list the branches');
  return {
    git,
    tree:
      isInTree === 'true'
        ? await git.read(['rev-parse', '--show-toplevel'], 'git names no working tree')
        : undefined,
    isBare: isBare === 'true',
    objects: resolve(git.cwd, store),
    isEmpty: !hasHead && refs === '',
    hasHead,
  };
}

/** A commit with all that it consists of is there; `env` may add objects. */
export async function hasWhole(
  { git }: Repository,
  commit: string,
  env?: Readonly<Record<string, string>>,
): Promise<boolean> {
  if (!(await git.ask(['cat-file', '-e', `${commit}^{commit}`], { env }))) return false;
  return git.ask(['rev-list', '--objects', '--quiet', commit, '--not', '--all'], { env });
}

/** A commit as messages have it. */
export const short = (commit: string): string => commit.slice(0, 12);
