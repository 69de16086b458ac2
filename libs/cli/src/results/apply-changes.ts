import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { failure, type Git, namesIn, saidBy } from '../git/git.ts';
import { type Repository, short } from '../git/repository.ts';
import { inScratch } from '../git/scratch.ts';
import { filesInTheWay } from './in-the-way.ts';
import type { KeptResult } from './kept-result.ts';
import { receiveResult } from './receive-result.ts';

/** The changes of a task in a working tree. `files` is empty if all of them were there already. */
export interface Applied {
  readonly tree: string;
  readonly files: readonly string[];
  /** The commit that the task began from, where the last commit here does not continue it. */
  readonly continues: string | null;
}

const MAX_NAMES = 10;

/**
 * Applies the changes of a task to a clean working tree and stages them, by a three-way merge. It is made in an index of its own, so
 * that nothing is half done on a conflict. Throws INVALID_PARAMS that names the files for a tree that is not clean, for a conflict, and
 * where files that git does not track are in the way, ignored ones too.
 */
export async function applyChanges(repository: Repository, kept: KeptResult): Promise<Applied> {
  const { tree } = repository;
  if (tree === undefined) throw failure('--apply needs a working tree: leave it out, or run it in one');
  // In a subfolder, git would leave out what is outside of it.
  const git = repository.git.in(tree);
  if (!(await git.ask(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'])))
    throw failure('--apply needs a commit to apply the changes to: leave it out, and merge the branch');
  await refuseDirty(git);
  await receiveResult(repository, kept, async () => undefined);
  const merged = await inScratch((folder) => mergedTree(git, kept, folder));
  const changed = ['diff-tree', '-r', '--name-only', '-z', 'HEAD', merged];
  const files = await namesIn(git, changed);
  await refuseToOverwrite(git, await namesIn(git, [...changed, '--diff-filter=A']));
  const { base } = kept;
  const isKnown = base === null || (await git.ask(['merge-base', '--is-ancestor', base, 'HEAD']));
  if (files.length > 0)
    await git.read(
      ['-c', 'submodule.recurse=false', 'read-tree', '-m', '-u', 'HEAD', merged],
      'the changes cannot be applied',
      { isWhole: true },
    );
  return { tree, files, continues: isKnown ? null : base };
}

async function refuseToOverwrite(git: Git, added: readonly string[]): Promise<void> {
  const found = await filesInTheWay(git, added);
  if (found.length === 0) return;
  throw failure(
    `${listed(found)} in ${git.cwd} would be overwritten, and git does not have ${found.length === 1 ? 'it' : 'them'}: nothing was changed; move that away first`,
  );
}

async function refuseDirty(git: Git): Promise<void> {
  const status = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=no'];
  const dirty = await namesIn(git, [...status, '--ignore-submodules=dirty']);
  if (dirty.length === 0) return;
  const names = listed(dirty.map((entry) => entry.slice(3)));
  throw failure(
    `${names} in ${git.cwd} changed since the last commit: commit or stash that first (git stash)`,
  );
}

/** The tree of HEAD with the changes of the task, merged in a folder with an index of its own. */
async function mergedTree(git: Git, kept: KeptResult, folder: string): Promise<string> {
  const base =
    kept.base ?? (await git.read(['hash-object', '-t', 'tree', '/dev/null'], 'git does not answer'));
  const env = {
    GIT_DIR: await git.read(['rev-parse', '--absolute-git-dir'], 'git does not answer'),
    GIT_WORK_TREE: join(folder, 'tree'),
    GIT_INDEX_FILE: join(folder, 'index'),
  };
  await mkdir(env.GIT_WORK_TREE);
  const apart = git.in(env.GIT_WORK_TREE);
  const merge = ['read-tree', '-m', '--aggressive', '-i', base, 'HEAD', kept.commit];
  await apart.read(merge, `the changes since ${short(base)} cannot be read`, { env });
  const { stderr } = await apart.exec(['merge-index', '-o', '-q', 'git-merge-one-file', '-a'], { env });
  const unmerged = await namesIn(apart, ['diff-files', '--name-only', '--diff-filter=U', '-z'], { env });
  if (unmerged.length === 0)
    return apart.read(['write-tree'], `the merge fails (${saidBy(stderr)})`, { env });
  throw failure(
    `the changes of task ${kept.taskId} conflict with yours in ${listed(unmerged)}: nothing was changed; without --apply they become a branch that you can merge`,
  );
}

function listed(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  return `${names.slice(0, MAX_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
