import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { LEFT_OUT } from './diff.ts';
import type { Git, GitPlace } from './git.ts';

/** Returns the checked-out branch, and the paths with uncommitted changes. */
export async function treeState(
  git: Git,
  place: GitPlace,
  options: readonly string[] = [],
): Promise<{ readonly branch: string; readonly changed: readonly string[] }> {
  const args = ['status', '--porcelain=v2', '--branch', '-z', '--no-renames', ...options, ...LEFT_OUT];
  const lines = (await git.run(place, args)).split('\0').filter((line) => line !== '');
  const isHeader = (line: string): boolean => line.startsWith('#');
  const head = lines.find((line) => line.startsWith('# branch.head '));
  const branch = head?.slice('# branch.head '.length) ?? '';
  return { branch, changed: lines.filter((line) => !isHeader(line)).map(pathOf) };
}

/** The path of an entry, which follows as many fields as its kind has (git-status, porcelain format version 2). */
function pathOf(entry: string): string {
  const fields = { '1': 8, u: 10 }[entry.charAt(0)] ?? 1;
  return entry.split(' ').slice(fields).join(' ');
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
