import { access, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { type Git, type GitPlace, linesOf } from '../git/git.ts';

/** Returns the real path of the user's repository. Throws CONFIG_INVALID when there is none. */
export async function usersRepository(path: string): Promise<string> {
  try {
    await access(join(path, '.git'));
    return await realpath(path);
  } catch (cause) {
    throw unusable(path, 'it is not a git repository', cause);
  }
}

export const unusable = (path: string, reason: string, cause?: unknown): FleetError =>
  FleetError.ofKey('config.yaml workspace.path', `${path} cannot be used: ${reason}`, cause);

/**
 * Why a partial clone cannot be used where it lacks files, and the remedy; undefined for a repository that fetches all of them
 * (https://git-scm.com/docs/partial-clone).
 */
export async function partialClone(git: Git, place: GitPlace): Promise<string | undefined> {
  const found = await git.exec(place, ['config', '--name-only', '--get-regexp', PROMISOR]);
  const [setting = ''] = linesOf(found.stdout);
  const name = /^remote\.([\w./-]{1,100})\.promisor$/.exec(setting)?.[1];
  if (setting === '') return undefined;
  const whole = 'use a clone that was made without --filter';
  if (name === undefined) return `it is a partial clone, which lacks files of its history; ${whole}`;
  const unset = `git config --unset-all remote.${name}.partialclonefilter`;
  return `it is a partial clone (${setting}), which lacks files of its history; run '${unset}; git fetch --refetch ${name}' in it, or ${whole}`;
}

const PROMISOR = '^remote\\..*\\.promisor$';
