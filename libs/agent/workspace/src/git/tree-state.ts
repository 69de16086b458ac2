import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RepoState } from '@hermes-fleet/protocol/ports';
import { LEFT_OUT } from './diff.ts';
import type { Git, GitPlace } from './git.ts';

/** Returns the checked-out branch, and whether the tree has no uncommitted changes. */
export async function treeState(
  git: Git,
  place: GitPlace,
  options: readonly string[] = [],
): Promise<RepoState> {
  const args = ['status', '--porcelain=v2', '--branch', '-z', ...options, ...LEFT_OUT];
  const lines = (await git.run(place, args)).split('\0');
  const head = lines.find((line) => line.startsWith('# branch.head '));
  const branch = head?.slice('# branch.head '.length) ?? '';
  return { branch, clean: lines.every((line) => line === '' || line.startsWith('#')) };
}

/** Creation time of the index lock in milliseconds since the epoch, undefined when no git command holds it. */
export async function lockedSince(gitDir: string): Promise<number | undefined> {
  return lstat(join(gitDir, 'index.lock')).then(
    ({ mtimeMs }) => mtimeMs,
    () => undefined,
  );
}

/**
 * Returns why the tree is not fit for a commit, undefined when it is. A commit must neither be lost nor end an
 * operation that somebody else began.
 */
export async function obstacle(git: Git, place: GitPlace, gitDir: string): Promise<string | undefined> {
  if ((await lockedSince(gitDir)) !== undefined)
    return 'is locked by a git command (.git/index.lock): wait for it, or remove what it left behind';
  const { exitCode } = await git.script(place, WHICH, [gitDir, ...UNDER_WAY.map(([file]) => file)]);
  const under = UNDER_WAY[(exitCode ?? 0) - FIRST];
  if (under !== undefined) return `is in the middle of a ${under[1]}: finish or abort it`;
  if (!(await git.ask(place, ['symbolic-ref', '-q', 'HEAD'])))
    return 'is on no branch (detached HEAD): check one out';
  if (!(await git.ask(place, ['rev-parse', '-q', '--verify', 'HEAD'])))
    return 'is on a branch without a commit: make the first one';
  return undefined;
}

/** Files that git keeps in its directory during an operation. */
const UNDER_WAY: readonly (readonly [file: string, name: string])[] = [
  ['rebase-merge', 'rebase'],
  ['rebase-apply', 'rebase'],
  ['MERGE_HEAD', 'merge'],
  ['CHERRY_PICK_HEAD', 'cherry-pick'],
  ['REVERT_HEAD', 'revert'],
  ['sequencer', 'cherry-pick or revert'],
  ['BISECT_LOG', 'bisect'],
];
const FIRST = 90;
/** Exits with `FIRST` plus the index of the first file that exists. */
const WHICH = `d=$1; shift; n=${FIRST}; for f; do test ! -e "$d/$f" || exit $n; n=$((n+1)); done`;
