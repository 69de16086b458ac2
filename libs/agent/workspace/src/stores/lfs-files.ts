import { join } from 'node:path';
import type { Log } from '@hermes-fleet/protocol/ports';
import { failureOf, type Git, type GitPlace } from '../git/git.ts';

/** Changed files that `.gitattributes` gives to Git LFS (https://git-lfs.com), which the fleet does not follow. */
export interface LfsFiles {
  /** The commit has the content, where the repository wants a pointer. */
  readonly contents: readonly string[];
  /** The commit has a new pointer, and nothing has its content. */
  readonly pointers: readonly string[];
}

/** More files are not looked at. */
const MAX_FILES = 200;
const MAX_BYTES = 64 * 1024 * 1024;

/** The files that differ so from a commit to another, as the `.gitattributes` of the other say. The index is written to a folder. */
export async function lfsFiles(
  git: Git,
  place: GitPlace,
  {
    from,
    to,
    folder,
    log,
  }: { readonly from: string; readonly to: string; readonly folder: string; readonly log: Log },
): Promise<LfsFiles | undefined> {
  const args = [from, to, join(folder, 'attributes')];
  const asked = await git.script(place, ATTRIBUTES, args, { keepBytes: MAX_BYTES });
  if (asked.exitCode !== 0) log.error({ from, to, ...failureOf(asked) }, 'git failed to compare a result');
  if (asked.exitCode !== 0 || asked.stdout === '') return undefined;
  const fields = asked.stdout.split('\0');
  const paths = fields.filter((_, at) => at % 3 === 0 && fields[at + 2] === 'lfs').slice(0, MAX_FILES);
  if (paths.length === 0) return undefined;
  const { stdout } = await git.exec(place, [...POINTERS, to, '--', ...paths]);
  const found = new Set(stdout.split('\0').map((name) => name.slice(to.length + 1)));
  return {
    contents: paths.filter((path) => !found.has(path)),
    pointers: paths.filter((path) => found.has(path)),
  };
}

/** Lists the files that are pointers. */
const POINTERS = ['--literal-pathspecs', 'grep', '-azlE', '^version https://git-lfs.github.com/spec/v1$'];

/**
 * Prints the value of `filter` of the files that are new or changed; nothing when no `.gitattributes` is in a folder above one of
 * them. A file that was only moved has been what it is.
 */
const ATTRIBUTES = `changed() { git diff-tree -r -M100% --diff-filter=AM --name-only "$@"; }
changed "$1" "$2" | awk -F / -v commit="$2:" '{
  path = commit
  for (i = 1; i <= NF; i++) {
    if (!seen[path]++) print path ".gitattributes"
    path = path $i "/"
  }
}' | git cat-file --batch-check | grep -q ' blob ' || exit 0
export GIT_INDEX_FILE="$3"
git read-tree "$2" && changed -z "$1" "$2" | git check-attr --cached --stdin -z filter`;
