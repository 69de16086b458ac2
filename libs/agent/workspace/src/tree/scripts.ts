import { BUILD_PATTERNS } from '../git/build-files.ts';

/*
 * Scripts that run as a task in the working tree of its context, several git steps in one process. What they print is not
 * believed: the gateway checks every object (stores/quarantine.ts).
 */

/** Exit code of a script for a repository that git cannot work with. */
export const BROKEN = 91;
/** Exit code of a script that needs objects which the repository does not have. */
export const LACKS = 92;

/** An index of some hundred files; below, it costs less to compare them than to write the index once more. */
const LARGE_INDEX_BYTES = 64 * 1024;

/**
 * Prints the pattern of an ignore file for a path. A line break or carriage return becomes `?`, because git cannot have it there.
 */
const PATTERN = `pattern() { printf '/%s' "$1" | sed 's/[][*?\\\\]/\\\\&/g; s/ $/\\\\ /' | tr '\\n\\r' '??'; echo; }`;

/**
 * Leaves files out of commits, and prints them. They are listed in `.git/large`, but for names with line breaks. A file
 * that is unchanged since the commit is not left out, and one that git ignores is in no commit anyway.
 */
export const LEAVE_OUT = `${PATTERN}
for path; do
  path=\${path#./}
  if [ "$(git ls-files -z -- ":(literal)$path" | tr '\\0' '\\n')" = "$path" ]; then
    if git diff --quiet --no-ext-diff HEAD -- ":(literal)$path"; then continue; fi
    git update-index --assume-unchanged -- "$path"
  elif git check-ignore -q -- "$path"; then continue
  fi
  printf '%s\\n' "$path"
  case "$path" in
    *"
"*) ;;
    *) printf '%s\\n' "$path" >>.git/large ;;
  esac
  pattern "$path" >>.git/info/exclude
done`;

/**
 * Makes the tree's repository: a new `.git` that borrows the objects of the base. Files that are there stay. So does the
 * repository that it replaces, as `.git/replaced`, for it may have branches and stashes that no result has: at most one, and
 * none above 1 GiB. A script that ends early leaves it as `.git-replaced` for the next one. Git ignores there what builds
 * leave, and what the set-up of the tree left (`.git/set-up`).
 *
 * Arguments: object folder of the base, branch, commit, `checkout` or `keep`, the size in bytes above which files that
 * stay are left out of commits, `pack` if standard input is a pack of what the base lacks, LEAVE_OUT, and the shallow commits.
 * Prints the files that are left out.
 */
export const SET_UP = `set -e
${BUILD_PATTERNS}
objects=$1 branch=$2 commit=$3 files=$4 max=$5 input=$6 leave_out=$7; shift 7
mark_embedded() { if git ls-files -s | grep -q '^160000 '; then : >.git/embedded; fi; }
remove() { rm -rf "$1" 2>/dev/null || { chmod -R u+rwX "$1"; rm -rf "$1"; }; }
if [ "$files" = keep ] && [ ! -e .git-replaced ] && [ -d .git ] && [ ! -L .git ]; then
  remove .git/replaced
  mv .git .git-replaced
fi
if [ -e .git ] || [ -L .git ]; then remove .git; fi
mkdir -p .git/objects/info .git/objects/pack .git/info ".git/refs/heads/\${branch%/*}"
echo /.git-replaced >.git/info/exclude
printf '%s\\n' "$objects" >.git/objects/info/alternates
printf 'ref: refs/heads/%s\\n' "$branch" >.git/HEAD
printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tlogallrefupdates = true\\n' >.git/config
for id; do echo "$id" >>.git/shallow; done
if [ "$input" = pack ]; then git index-pack --stdin >/dev/null; fi
printf '%s\\n' "$commit" >".git/refs/heads/$branch"
if [ "$files" = checkout ]; then
  git read-tree --reset -u HEAD
  build_patterns >>.git/info/exclude
  if [ -e .gitmodules ]; then mark_embedded; fi
  [ "$(wc -c <.git/index)" -lt ${LARGE_INDEX_BYTES} ] || : >.git/fresh
  exit
fi
git read-tree HEAD
build_patterns >>.git/info/exclude
if [ -e .git-replaced ]; then
  [ "$(du -sm .git-replaced | cut -f 1)" -le 1024 ] || remove .git-replaced
  mv .git-replaced .git/replaced 2>/dev/null || :
  if [ -f .git/replaced/set-up ]; then cat .git/replaced/set-up | tee .git/set-up >>.git/info/exclude; fi
fi
mark_embedded
find . \\( -path ./.git -o -path ./.scratch \\) -prune -o -type f -size "+\${max}c" -exec sh -c "$leave_out" sh {} +`;

/**
 * Has the repository, and the one that it replaced, borrow from the object folder `$1`, where they borrow from another one: the
 * workspace was moved since.
 */
const BORROW = `borrow() {
  for each in .git .git/replaced; do
    list=$each/objects/info/alternates
    if read -r lender 2>/dev/null <"$list" && [ "$lender" != "$1" ]; then
      { printf '%s\\n' "$1"; tail -n +2 "$list"; } >"$list.new" && mv "$list.new" "$list"
    fi
  done
}`;

/** Before an interrupted task goes on. One run at a time works in the tree, so a lock is a leftover. Argument: object folder of the base. */
export const RESUME = `${BORROW}
borrow "$1"; rm -f .git/index.lock`;

/**
 * Makes the commit of the result that of the tree, in place of the commits that the task made. The index and the files stay as they
 * are. The tree gets the commit alone, where it has the files and the parent, else from standard input, a pack of all results since the
 * base. Arguments: the commit, its parent, the commit as git stores it, or nothing, and `pack` or nothing. Exits with `LACKS`
 * when it needs the pack.
 */
export const TAKE_COMMIT = `
has() { git cat-file -e "$1" 2>/dev/null; }
if [ "$4" ]; then git index-pack --stdin >/dev/null || exit
elif [ "$3" ]; then
  has "$2^{commit}" || exit ${LACKS}
  printf %s "$3" | git hash-object -t commit -w --stdin >/dev/null || exit
fi
{ has "$1" && has "$1^{tree}"; } || exit ${LACKS}
git update-ref -m 'commit of the result' HEAD "$1"`;

/**
 * Takes a newer commit into the tree, whose files the last commit has, but for ignored ones; a file in the way stays, and nothing is
 * taken. Arguments: the commit, `pack` if standard input is a pack of what the base lacks, and the shallow commits.
 */
export const MOVE_ON = `set -e
commit=$1; shift
if [ "$1" ]; then git index-pack --stdin >/dev/null; fi
shift
for id; do echo "$id"; done >.git/shallow.new
if [ -s .git/shallow.new ]; then mv .git/shallow.new .git/shallow; else rm -f .git/shallow.new; fi
git update-index -q --refresh || :
git read-tree -m -u HEAD "$commit"
git update-ref -m 'newer commit of the checkout' HEAD "$commit"`;

/** Brings a tree in which MOVE_ON was interrupted to a commit, which has all of its files. Argument: the commit. */
export const MOVE_BACK = `rm -f .git/index.lock .git/HEAD.lock
git read-tree --reset -u "$1" && git update-ref -m 'interrupted move' HEAD "$1"`;

/** Up to here, the names of changed files are given to `git add`, which compares each of them with each file of the tree. */
const MAX_NAMES_BYTES = 16 * 1024;

/**
 * Commits all changes (`commit`), and empties the folder for temporary files too (`end`), or only makes a commit of them
 * that the branch does not get (`snapshot`). Prints 1 if git could not add a file, else 0, then the commit, then 1 if the
 * tree may have repositories of its own (`.git/embedded`), and then a pack of what the base lacks unless the gateway has the
 * commit. The files of a repository whose `.git` was removed are added.
 *
 * An index that is as old as its files, to the second, does not tell which of them changed since. `git add` would store all of
 * them again, because the objects of the base cannot be written to. So only the changed files are added, and the index of a
 * large new tree (`.git/fresh`) is written once more when its second is over. After a merge with conflicts, and where git does
 * not take the names, all are added.
 *
 * A file that was left out, and is not too large any more, is added. A folder that CACHEDIR.TAG marks as a cache is ignored from
 * then on.
 *
 * Arguments: mode, message, the commit that the gateway has, commit and object folder of the base, folder for temporary files, the
 * size in bytes above which files are left out, pathspecs.
 */
export const SAVE = `mode=$1 message=$2 known=$3 base=$4 objects=$5 tmp=$6 max=$7; shift 7
${BORROW}
${PATTERN}
${BUILD_PATTERNS}
has_files() {
  for each in "$tmp"/* "$tmp"/.[!.]* "$tmp"/..?*; do
    if [ -e "$each" ] || [ -L "$each" ]; then return; fi
  done
  [ ! -r "$tmp" ]
}
empty() { find "$tmp" -mindepth 1 -delete 2>/dev/null; }
if [ "$mode" = end ] && has_files; then empty || { chmod -R u+rwX "$tmp" 2>/dev/null; empty; }; fi
borrow "$objects"
if [ -e .git/index.lock ]; then rm -f .git/index.lock; fi
if [ -s .git/large ]; then
  : >.git/small
  while IFS= read -r path; do
    if [ -n "$(find "./$path" -maxdepth 0 -type f -size "+\${max}c" 2>/dev/null)" ]; then printf '%s\\n' "$path"; continue; fi
    git update-index --no-assume-unchanged -- "$path" 2>/dev/null
    pattern "$path" >>.git/small
  done <.git/large >.git/larger
  mv .git/larger .git/large
  if [ -s .git/small ]; then
    grep -vxF -f .git/small .git/info/exclude >.git/info/excluded
    mv .git/info/excluded .git/info/exclude
  fi
fi
if [ -e .git/embedded ]; then
  git ls-files -s | sed -n 's/^160000 [0-9a-f]* 0\\t//p' | while IFS= read -r path; do
    if [ -d "$path" ] && [ ! -L "$path" ] && [ ! -e "$path/.git" ] && [ -n "$(ls -A "$path")" ]; then
      git update-index --force-remove -- "$path"
    fi
  done
fi
if [ -e .git/fresh ] && [ "$(stat -c %Y .git/index)" -lt "$(date +%s)" ]; then
  git update-index -q --refresh --force-write-index
  rm -f .git/fresh
fi
added=0 commit= changed=
if [ "$mode" = snapshot ]; then changed=1; else
  git status --porcelain=v2 --branch --no-renames --untracked-files=normal --ignore-submodules=dirty "$@" >.git/changed || exit ${BROKEN}
  while read -r kind name value; do
    case "$kind $name" in
      '# branch.oid') commit=$value ;;
      '#'*) ;;
      *) changed=1; break ;;
    esac
  done <.git/changed
fi
if [ "$changed" ]; then
  git ls-files -z --modified --deleted --others --exclude-standard "$@" >.git/changed || exit ${BROKEN}
  cache_patterns <.git/changed >.git/caches
  if [ -s .git/caches ]; then
    cat .git/caches >>.git/info/exclude
    git ls-files -z --modified --deleted --others --exclude-standard "$@" >.git/changed || exit ${BROKEN}
  fi
  bytes=$(wc -c <.git/changed)
  if [ "$bytes" -gt ${MAX_NAMES_BYTES} ] || [ -n "$(git ls-files --unmerged | head -n 1)" ]; then added=2
  elif [ "$bytes" -gt 0 ]; then
    git --literal-pathspecs add --all --ignore-errors --pathspec-from-file=.git/changed --pathspec-file-nul; added=$?
  fi
  [ $added -le 1 ] || { git add --all --ignore-errors "$@"; added=$?; }
  [ $added -le 1 ] || exit ${BROKEN}
  if [ "$mode" = snapshot ]; then
    tree=$(git write-tree) && commit=$(git commit-tree -p HEAD -m "$message" "$tree") || exit ${BROKEN}
  else
    git diff --cached --quiet --no-ext-diff
    case $? in
      0) ;;
      1) git commit -q --no-verify -m "$message" || exit ${BROKEN} ;;
      *) exit ${BROKEN} ;;
    esac
    commit=$(git rev-parse -q --verify 'HEAD^{commit}') || exit ${BROKEN}
  fi
fi
if [ -e .git/embedded ]; then embedded=1; else embedded=0; fi
printf '%s %s %s\\n' $added "$commit" $embedded
[ "$commit" != "$known" ] || exit 0
printf '%s\\n^%s\\n' "$commit" "$base" | git pack-objects --revs --stdout -q || exit ${BROKEN}
if git diff-tree -r --no-renames "$base" "$commit" | grep -q '^:[0-7]* 160000 '; then : >.git/embedded; fi`;
