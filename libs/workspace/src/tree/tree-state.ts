import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git, GitPlace } from './git.ts';
import { LEFT_OUT } from './workspace.ts';

export interface TreeState {
  readonly branch: string;
  readonly clean: boolean;
}

/** The branch that is checked out, and whether the tree is what was committed there. */
export async function treeState(
  git: Git,
  place: GitPlace,
  options: readonly string[] = [],
): Promise<TreeState> {
  const args = ['status', '--porcelain=v2', '--branch', '-z', ...options, ...LEFT_OUT];
  const lines = (await git.run(place, args)).split('\0');
  const head = lines.find((line) => line.startsWith('# branch.head '));
  const branch = head?.slice('# branch.head '.length) ?? '';
  return { branch, clean: lines.every((line) => line === '' || line.startsWith('#')) };
}

/** When the file that a git command at work in the tree holds was made; undefined when there is none. */
export async function lockedSince(gitDir: string): Promise<number | undefined> {
  return lstat(join(gitDir, 'index.lock')).then(
    ({ mtimeMs }) => mtimeMs,
    () => undefined,
  );
}

/** Why a commit now would be lost or would end what somebody else began, said of the tree; undefined when it is none. */
export async function obstacle(git: Git, place: GitPlace, gitDir: string): Promise<string | undefined> {
  if ((await lockedSince(gitDir)) !== undefined)
    return 'is locked by a git command (.git/index.lock): wait for it, or remove what it left behind';
  const code = (await git.script(place, WHICH, [gitDir, ...UNDER_WAY.map(([file]) => file)])) ?? 0;
  const under = UNDER_WAY[code - FIRST];
  if (under !== undefined) return `is in the middle of a ${under[1]}: finish or abort it`;
  if ((await git.ask(place, ['symbolic-ref', '-q', 'HEAD'])) !== 0)
    return 'is on no branch (detached HEAD): check one out';
  if ((await git.ask(place, ['rev-parse', '-q', '--verify', 'HEAD'])) !== 0)
    return 'is on a branch without a commit: make the first one';
  return undefined;
}

/** What git keeps in its directory while something is under way. */
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
/** Exits with the number of the first file that is there. */
const WHICH = `d=$1; shift; n=${FIRST}; for f; do test ! -e "$d/$f" || exit $n; n=$((n+1)); done`;
