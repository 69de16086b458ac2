/*
 * Scripts that run as a task in the working tree of its context, several git steps in one process. What they print is not
 * believed: the gateway checks every object (stores/quarantine.ts).
 */

/** Exit code of a script for a repository that git cannot work with. */
export const BROKEN = 91;

/**
 * Makes the tree's repository: a new `.git` that borrows the objects of the base. Files that are there stay. So does the
 * repository that it replaces, as `.git/replaced`, for it may have branches and stashes that no result has: at most one, and
 * none above 1 GiB. A script that ends early leaves it as `.git-replaced` for the next one.
 *
 * Arguments: object folder of the base, branch, commit, `checkout` or `keep`, the size in bytes above which files that
 * stay are left out of commits, `pack` if standard input is a pack of what the base lacks, and the shallow commits. Prints
 * the files that are left out.
 */
export const SET_UP = `set -e
objects=$1 branch=$2 commit=$3 files=$4 max=$5 input=$6; shift 6
if [ "$files" = keep ] && [ ! -e .git-replaced ] && [ -d .git ] && [ ! -L .git ]; then
  rm -rf .git/replaced
  mv .git .git-replaced
fi
rm -rf .git
mkdir -p .git/objects/info .git/objects/pack .git/info ".git/refs/heads/\${branch%/*}"
echo /.git-replaced >.git/info/exclude
printf '%s\\n' "$objects" >.git/objects/info/alternates
printf 'ref: refs/heads/%s\\n' "$branch" >.git/HEAD
printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tlogallrefupdates = true\\n' >.git/config
for id; do echo "$id" >>.git/shallow; done
if [ "$input" = pack ]; then git index-pack --stdin >/dev/null; fi
printf '%s\\n' "$commit" >".git/refs/heads/$branch"
if [ "$files" = checkout ]; then exec git read-tree --reset -u HEAD; fi
git read-tree HEAD
if [ -e .git-replaced ]; then
  [ "$(du -sm .git-replaced | cut -f 1)" -le 1024 ] || rm -rf .git-replaced
  mv .git-replaced .git/replaced 2>/dev/null || :
fi
find . \\( -path ./.git -o -path ./.scratch \\) -prune -o -type f -size "+\${max}c" -print | sed 's/^\\.//; s/[][*?\\\\]/\\\\&/g' | tee -a .git/info/exclude`;

/**
 * Commits all changes (\`commit\`), and empties the folder for temporary files too (\`end\`), or only makes a commit of them
 * that the branch does not get (\`snapshot\`). Prints 1 if git could not add a file, else 0, then the commit, and then a pack
 * of what the base lacks unless the gateway has the commit.
 *
 * Arguments: mode, message, the commit that the gateway has, commit of the base, folder for temporary files, pathspecs.
 */
export const SAVE = `mode=$1 message=$2 known=$3 base=$4 tmp=$5; shift 5
empty() { find "$tmp" -mindepth 1 -delete 2>/dev/null; }
[ "$mode" != end ] || empty || { chmod -R u+rwX "$tmp" 2>/dev/null; empty; }
rm -f .git/index.lock
git add --all --ignore-errors "$@"; added=$?
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
printf '%s %s\\n' $added "$commit"
[ "$commit" = "$known" ] || printf '%s\\n^%s\\n' "$commit" "$base" | git pack-objects --revs --stdout -q || exit ${BROKEN}`;
