import type { Log } from '@hermes-fleet/protocol/ports';
import { type Git, type GitPlace, linesOf } from './git.ts';

/** The files of one commit, whatever has become of them in a tree. */
export type CommittedFiles = Omit<ReturnType<typeof createCommittedFiles>, 'notFollowed'>;

/** The names of the files that say how to work with a commit. */
const NAMES = ['AGENTS.md', 'CLAUDE.md', '.gitattributes'] as const;

/** Files of a commit that are missing in a clone which follows neither submodules nor Git LFS. */
export interface NotFollowed {
  /** The folders of submodules. */
  readonly submodules: readonly string[];
  /** The patterns of `.gitattributes`, behind its folder, for files that are pointers of Git LFS (https://git-lfs.com). */
  readonly pointers: readonly string[];
}

/** Reads a commit with git, which runs in `place`. What git cannot read is not there; the log says so. */
export function createCommittedFiles(git: Git, place: GitPlace, commit: string, log: Log) {
  let listed: Promise<string[]> | undefined;
  /** Lists the submodules, and the files with one of `NAMES`, once for all questions. */
  const list = (): Promise<string[]> => {
    listed ??= git.script(place, LIST, [commit, PATTERN]).then(({ stdout, stderr }) => {
      if (stderr !== '')
        log.warn({ commit, stderr: stderr.slice(0, 500) }, 'the files of a commit cannot be listed');
      return linesOf(stdout);
    });
    return listed;
  };
  const pathsOf = async (isMeant: (mode: string, name: string) => boolean): Promise<string[]> =>
    (await list())
      .filter((line) => isMeant(line.slice(0, 6), line.slice(line.search(/[^\t/]*$/))))
      .map((line) => line.slice(line.indexOf('\t') + 1))
      .filter((path) => !HIDDEN.test(path) && !path.includes('\uFFFD'))
      .sort(upperFirst);
  return {
    /**
     * The paths of the files and links with one of these names, in any folder: the upper ones first, then sorted. Those that are
     * not UTF-8 are not among them, and of very many files and submodules only the first ones.
     */
    named: (names: readonly (typeof NAMES)[number][]): Promise<string[]> =>
      pathsOf((mode, name) => mode !== SUBMODULE && names.some((each) => each === name)),
    /** The submodules and pointers, as far as `named` lists them, and the patterns of the first 50 `.gitattributes`. */
    async notFollowed(): Promise<NotFollowed> {
      const [submodules, attributes] = await Promise.all([
        pathsOf((mode) => mode === SUBMODULE),
        pathsOf((mode, name) => mode !== SUBMODULE && name === '.gitattributes'),
      ]);
      if (attributes.length === 0) return { submodules, pointers: [] };
      const args = [...LFS, commit, '--', ...attributes.slice(0, MAX_ATTRIBUTES)];
      const { stdout } = await git.exec(place, args, { keepBytes: MAX_LFS_BYTES });
      return { submodules, pointers: linesOf(stdout).flatMap(pointerPattern) };
    },
    /**
     * Returns the first `maxBytes` bytes of a text file, and its size. A link is followed within the commit. Undefined when there
     * is no such file, the link leads elsewhere, or it is not text.
     */
    async read(path: string, maxBytes: number): Promise<{ text: string; bytes: number } | undefined> {
      if (HIDDEN.test(path)) return undefined;
      const found = await git.script(place, FIND, [`${commit}:${path}`]);
      const [, id, size] = FOUND.exec(found.stdout) ?? [];
      if (id === undefined) return undefined;
      const { exitCode, stdout } = await git.script(place, READ, [id, String(maxBytes)]);
      if (exitCode !== 0 || stdout.includes('\0')) return undefined;
      const bytes = Number(size);
      // The limit may cut the last character.
      return { text: bytes > maxBytes ? stdout.replace(/\uFFFD$/, '') : stdout, bytes };
    },
  };
}

const depth = (path: string): number => path.split('/').length;
const upperFirst = (a: string, b: string): number => depth(a) - depth(b) || (a < b ? -1 : 1);

/** Names with these are not read: a line break would be another question to git. */
const HIDDEN = /\p{Cc}/u;
const FOUND = /^([0-9a-f]{40}|[0-9a-f]{64}) blob (\d+)\n$/;

const SUBMODULE = '160000';
const PATTERN = `^${SUBMODULE} |[\t/](${NAMES.join('|').replaceAll('.', '[.]')})$`;
const LIST = `git ls-tree -r -z --full-tree "$1" | tr '\\0\\n' '\\n\\001' | { LC_ALL=C grep -aE "$2" || [ $? = 1 ]; } | head -n 1000`;
const MAX_ATTRIBUTES = 50;
const MAX_LFS_BYTES = 64 * 1024;
/** Prints the commit and the path, a NUL, and the line. A macro (`[attr]`) is no pattern. */
const LFS = ['--literal-pathspecs', 'grep', '-azE', '^[^[#].*[[:space:]]filter=lfs([[:space:]]|$)'];

/** The pattern of a line of `LFS`. */
function pointerPattern(line: string): string[] {
  const [, folder = '', text = ''] = /^[^:]*:(.*?)[^/]*\0\s*(.*)$/.exec(line) ?? [];
  const pattern = /^(?:"((?:[^"\\]|\\.)+)"|(\S+))\s/.exec(text);
  return pattern === null ? [] : [`${folder}${pattern[1] ?? pattern[2]}`];
}
const FIND = `printf '%s\\n' "$1" | git cat-file --batch-check --follow-symlinks`;
const READ = `git cat-file blob "$1" | head -c "$2"`;
