import { named, type Uncommitted } from '../git/add-all.ts';
import type { LfsFiles } from '../stores/lfs-files.ts';
import { MAX_FILE_BYTES } from '../stores/quarantine.ts';

/** Files that are too large for a result. */
export const tooLarge = (paths: readonly string[]): Uncommitted => ({
  todo: `commit ${named(paths)}: larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB`,
  certain: true,
});

/** Repositories inside the tree, and files of Git LFS. */
export function notFollowed(embedded: readonly string[], lfs: LfsFiles | undefined): Uncommitted[] {
  const { contents = [], pointers = [] } = lfs ?? {};
  const todos = [
    embedded.length > 0 &&
      `keep the files of ${named(embedded)}: a git repository of its own, of which the result has the id of a commit only; push it, or remove its .git and commit its files`,
    contents.length > 0 &&
      `convert ${named(contents)} for Git LFS before you push: the result has the content, where .gitattributes wants a pointer; 'git add --renormalize .' does that in a clone with git lfs`,
    pointers.length > 0 &&
      `keep the content of ${named(pointers)}: the result has a new pointer of Git LFS only`,
  ];
  return todos.flatMap((todo) => (todo === false ? [] : [{ todo, certain: true }]));
}

/** Files of an earlier task that was killed and never went on. */
export const leftBehind = (paths: readonly string[]): Uncommitted => ({
  todo: `review ${named(paths)}: left by an earlier task of this context that did not end, and part of the branch now`,
  certain: true,
});

/** A commit that was to be signed. */
export const notSigned = (commit: string, reason: string): Uncommitted => ({
  todo: `sign commit ${commit}: it has no signature (${reason})`,
  certain: true,
});
