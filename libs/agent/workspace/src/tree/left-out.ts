import { named, type Uncommitted } from '../git/add-all.ts';
import { LEFT_OUT, NAMES, pathsOf } from '../git/diff.ts';
import type { Git, GitPlace } from '../git/git.ts';
import { MAX_FILE_BYTES } from '../stores/quarantine.ts';

/** Files that are too large for a result. */
export const tooLarge = (paths: readonly string[]): Uncommitted => ({
  todo: `commit ${named(paths)}: larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB`,
  certain: true,
});

/** Repositories inside the tree. */
export const withoutFiles = (paths: readonly string[]): Uncommitted => ({
  todo: `keep the files of ${named(paths)}: a git repository of its own, of which the result has the id of a commit only; push it, or remove its .git and commit its files`,
  certain: true,
});

/** The paths that the task's own git shows as changed since a commit; none when it does not work. */
export async function pathsSince(git: Git, place: GitPlace, commit: string): Promise<string[]> {
  const { exitCode, stdout } = await git.exec(place, ['diff', ...NAMES, commit, ...LEFT_OUT]);
  return exitCode === 0 ? pathsOf(stdout) : [];
}
