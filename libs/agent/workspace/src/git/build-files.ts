import type { Git, GitPlace } from './git.ts';

/**
 * Folders that tools make, can make again, and name like nothing else: what is in them is no work of a task. `dist`, `build`,
 * `out`, `target`, `vendor`, `venv` and `coverage` are not among them, because projects have sources in folders of these names.
 */
const BUILD_FOLDERS = [
  ...['node_modules', '__pycache__', '.pytest_cache', '.mypy_cache', '.ruff_cache'],
  ...['.tox', '.nox', '.venv', '.gradle'],
];

const TRACKED = BUILD_FOLDERS.map((name) => `':(glob)**/${name}/**'`).join(' ');

/** The first bytes of a file that marks a cache, by https://bford.info/cachedir/. Cargo, pytest and others write it. */
const SIGNATURE = 'Signature: 8a477f597d28d172789f06886806bc55';
const MAX_CACHES = 100;

/**
 * Functions of the shell that print patterns of an ignore file, for the repository of the current folder. Such patterns
 * concern untracked files only, and those of the repository's own .gitignore take precedence.
 *
 * `build_patterns`: the folders of builds, but for those where the index has files.
 *
 * `cache_patterns`: of a list of paths that end with NUL, the folders that CACHEDIR.TAG marks as a cache, but for the whole
 * tree and for those where the index has files.
 */
export const BUILD_PATTERNS = `build_patterns() {
  printf '%s\\n' ${BUILD_FOLDERS.join(' ')}
  git ls-files -z -- ${TRACKED} | tr '\\0\\n\\r' '\\n\\001\\001' |
    awk -F / -v names='/${BUILD_FOLDERS.join('/')}/' '{
      path = ""
      for (i = 1; i < NF; i++) {
        path = path "/" $i
        if (index(names, "/" $i "/")) { if (!seen[path]++) print path; next }
      }
    }' | sed -e 's/[][*?\\\\]/\\\\&/g' -e 's|.*|!&/\\n!&/**|' | tr '\\001' '?'
}
cache_patterns() {
  tr '\\0' '\\n' | grep '/CACHEDIR\\.TAG$' | head -n ${MAX_CACHES} | while IFS= read -r tag; do
    folder=\${tag%/*}
    [ -f "$tag" ] && [ "$(head -c ${SIGNATURE.length} "./$tag" | tr -d '\\0')" = '${SIGNATURE}' ] || continue
    [ -z "$(git ls-files -- ":(top,literal)$folder" | head -n 1)" ] || continue
    printf '/%s/\\n' "$folder" | sed 's/[][*?\\\\]/\\\\&/g'
  done
}`;

/** The folder, in the .git of a repository that tasks share, that has an ignore file for the gateway's git. */
const FOLDER = 'fleet';

/**
 * Makes the gateway's git ignore what builds leave in a repository that is not its own. The user's git does not see it, and
 * where the repository sets `core.excludesFile`, that file applies in its place.
 */
export const ignoringBuilds = (gitDir: string): Pick<GitPlace, 'env'> => ({
  env: { XDG_CONFIG_HOME: `${gitDir}/${FOLDER}` },
});

/** Writes the ignore file of `ignoringBuilds` for what the tree has now. Resolves with false when that fails. */
export async function findBuilds(git: Git, place: GitPlace, gitDir: string): Promise<boolean> {
  return (await git.script(place, FIND, [`${gitDir}/${FOLDER}/git`])).exitCode === 0;
}

const FIND = `${BUILD_PATTERNS}
mkdir -p "$1" && build_patterns >"$1/ignore" &&
git ls-files -z --others --exclude-standard -- ':(glob)**/CACHEDIR.TAG' | cache_patterns >>"$1/ignore"`;
