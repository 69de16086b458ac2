import { BUILD_PATTERNS } from '../git/build-files.ts';
import { LEFT_OUT } from '../git/diff.ts';

/*
 * Scripts that run in a working tree as its user, and pass on what a set-up left. What they print and pack is not believed: it
 * is unpacked as the user of a context, which can reach the files of that context only.
 */

const PATHS = LEFT_OUT.map((path) => `'${path}'`).join(' ');

/** Files of this size and above are not searched for the path of the folder. */
const SEARCHED_KB = 1024;

/**
 * Finds what the set-up left in the tree and in the home directory: `.git/untracked`; in `.git/set-up`, the patterns for those of
 * them that the commit's own .gitignore files do not name, which are files, and folders of builds, so that what a task adds to
 * another folder is work; and the text files and links that have the path of the set-up's folder, as the programs of a Python
 * environment do. What the set-up put into the index, and into ignore files outside of the tree, counts for nothing.
 *
 * Arguments: that path, and the commit. Prints the submodules that have files, which are not among them.
 */
export const COLLECT = `set -e
${BUILD_PATTERNS}
others() { git ls-files -z --others --exclude-per-directory=.gitignore --exclude-from="$1" ${PATHS}; }
rm -f .git/index.lock
git read-tree "$2"
git ls-files -z -- ':(glob)**/.gitignore' | git checkout-index -f -q -z --stdin
git ls-files -z --others --directory ${PATHS} | sed -z 's|^|./|' >.git/untracked
build_patterns >.git/builds
others .git/builds | cache_patterns >.git/caches
cat .git/caches >>.git/builds
others .git/builds | tr '\\0\\n\\r' '\\n\\001\\001' |
  sed -e 's/[][*?\\\\]/\\\\&/g' -e 's/ $/\\\\ /' -e 's|^|/|' | tr '\\001' '?' | cat - .git/caches >.git/set-up
git ls-files -s | sed -n 's/^160000 [0-9a-f]* 0\\t//p' | while IFS= read -r path; do
  [ -z "$(ls -A "$path" 2>/dev/null)" ] || printf '%s\\n' "$path"
done
texts='old=$1; shift; find "$@" -type f -size -${SEARCHED_KB}k -exec grep -lIZF -e "$old/" {} + 2>/dev/null; :'
links='old=$1; shift; find "$@" -type l -lname "$old/*" -print0; :'
xargs -0 -r sh -c "$texts" sh "$1" <.git/untracked >.git/moved-texts
xargs -0 -r sh -c "$links" sh "$1" <.git/untracked >.git/moved-links
tree=$PWD
cd "$HOME"
sh -c "$texts" sh "$1" . >"$tree/.git/home-texts"
sh -c "$links" sh "$1" . >"$tree/.git/home-links"
for list in texts links; do mv "$tree/.git/home-$list" ".moved-$list"; done`;

/** Prints an empty line, and an archive of what COLLECT found in the tree. */
export const PACK_TREE = `echo
{ cat .git/untracked && printf './.git/%s\\0' set-up moved-texts moved-links; } | tar --null -T - -cf -`;

/** Prints an empty line, and an archive of the home directory without the folder itself, which belongs to the gateway. */
export const PACK_HOME = `echo
cd "$HOME" && find . -mindepth 1 -maxdepth 1 -print0 | tar --null -T - -cf -`;

/** Replaces the path of the set-up's folder, in the files and links that the lists `$1-texts` and `$1-links` name. */
const RELOCATE = `relocate() {
  xargs -0 -r sed -i -e "s|$from|$to|g" -- <"$1-texts" 2>/dev/null
  xargs -0 -r sh -c 'old=$1 new=$2; shift 2
    for link; do target=$(readlink -- "$link"); ln -sfn -- "$new\${target#"$old"}" "$link"; done' sh "$old" "$new" <"$1-links"
  rm -f "$1-texts" "$1-links"
}`;

/**
 * Unpacks an archive of PACK_TREE (`tree`) or PACK_HOME (`home`) from standard input. Git ignores from then on what the set-up
 * left. Arguments: which, the paths of the set-up's folder and of the context's, and both as parts of an expression of sed.
 */
export const UNPACK = `which=$1 old=$2 new=$3 from=$4 to=$5
${RELOCATE}
if [ "$which" = home ]; then cd "$HOME" || exit; lists=.moved; else lists=.git/moved; fi
tar --no-same-owner -xf - || exit
if [ "$which" = tree ]; then cat .git/set-up >>.git/info/exclude || exit; fi
relocate "$lists"; exit 0`;
