import { shownName } from '@hermes-fleet/protocol';
import { LEFT_OUT } from './diff.ts';
import type { Git, GitPlace } from './git.ts';

/** Work that a task leaves for somebody to commit or to look at. */
export interface Uncommitted {
  readonly todo: string;
  /** True when there certainly is such work; false when only if the task changed files. */
  readonly certain: boolean;
}

const MAX_NAMED = 5;
const MAX_NAME_CHARS = 200;

/** The first paths of a list in one line, and how many more there are. */
export function named(paths: readonly string[]): string {
  const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : '';
  const first = paths.slice(0, MAX_NAMED).map((path) => shownName(path, MAX_NAME_CHARS));
  return `${first.join(', ')}${more}`;
}

/**
 * Adds all files to the index. Resolves with the names of those that git cannot add: a nested repository without a
 * commit, or an unreadable file. One such path must not cost a task the rest of its work.
 */
export async function addAll(git: Git, place: GitPlace): Promise<Uncommitted | undefined> {
  const { exitCode } = await git.exec(place, ['add', '--all', '--ignore-errors', ...LEFT_OUT]);
  if (exitCode === 0) return undefined;
  const left = exitCode === SOME_FAILED ? await notAdded(git, place) : undefined;
  // The failure does not concern single files: this throws and logs git's output.
  if (left === undefined) await git.run(place, ['add', '--all', ...LEFT_OUT]);
  return left;
}

/** What `git add` left out, after it ended with 1. */
export async function notAdded(git: Git, place: GitPlace): Promise<Uncommitted | undefined> {
  const args = ['ls-files', '-z', '--others', '--modified', '--exclude-standard', ...LEFT_OUT];
  const left = (await git.run(place, args)).split('\0').filter((path) => path !== '');
  if (left.length === 0) return undefined;
  const todo = `commit ${named(left)}: git cannot take it in (a repository without a commit, or not readable)`;
  return { todo, certain: true };
}

const SOME_FAILED = 1;
