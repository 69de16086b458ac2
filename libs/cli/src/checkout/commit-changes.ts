import { copyFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { systemCode } from '@hermes-fleet/protocol';
import type { Checkout } from './open-checkout.ts';

const MESSAGE = 'Changes that were not committed when the task was sent';
/** For a user whose git has no name. */
const FALLBACK = { NAME: 'fleet send', EMAIL: 'send@hermes-fleet.invalid' };
/** No program of the user's runs, and nothing is written beside the index. */
const ALONE = ['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', '-c', 'core.splitIndex=false'];

/**
 * A commit of the whole working tree on HEAD, without what git ignores; HEAD itself where nothing is changed. The same changes are the same
 * commit. Index, files and branches stay as they are, and nothing refers to the commit yet. `folder` is for temporary files.
 */
export async function commitChanges({ git, tree, head }: Checkout, folder: string): Promise<string> {
  if (tree === undefined) return head;
  const index = await git.read(['rev-parse', '--git-path', 'index'], 'git names no index');
  const env = { GIT_INDEX_FILE: join(folder, 'index') };
  // With what it knows of files that did not change, they need not be read.
  await copyFile(resolve(git.cwd, index), env.GIT_INDEX_FILE).catch((error: unknown) => {
    if (systemCode(error) !== 'ENOENT') throw error;
  });
  const failed = 'the changes cannot be committed';
  await git.read([...ALONE, '-c', 'advice.addEmbeddedRepo=false', 'add', '--all'], failed, { env });
  const files = await git.read([...ALONE, 'write-tree'], failed, { env });
  if (files === (await git.read(['rev-parse', `${head}^{tree}`], failed))) return head;
  const date = await git.read(['log', '--max-count=1', '--no-show-signature', '--format=%ct', head], failed);
  const who: Record<string, string> = {};
  for (const role of ['AUTHOR', 'COMMITTER']) {
    who[`GIT_${role}_DATE`] = `${date} +0000`;
    if (await git.ask(['var', `GIT_${role}_IDENT`])) continue;
    for (const [key, value] of Object.entries(FALLBACK)) who[`GIT_${role}_${key}`] = value;
  }
  return git.read(['commit-tree', files, '-p', head, '-m', MESSAGE], failed, { env: who });
}

/** Keeps a commit from the garbage collection of git: `fleet pull` needs it. */
export async function keepCommit({ git }: Checkout, commit: string): Promise<void> {
  await git.read([...ALONE, 'update-ref', `refs/fleet/sent/${commit}`, commit], 'the commit cannot be kept', {
    isWhole: true,
  });
}
