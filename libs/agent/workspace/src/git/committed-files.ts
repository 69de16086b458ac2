import type { Log } from '@hermes-fleet/protocol/ports';
import { type Git, type GitPlace, linesOf } from './git.ts';

/** The files of one commit, whatever has become of them in a tree. */
export type CommittedFiles = ReturnType<typeof createCommittedFiles>;

/** Reads a commit with git, which runs in `place`. What git cannot read is not there; the log says so. */
export function createCommittedFiles(git: Git, place: GitPlace, commit: string, log: Log) {
  return {
    /**
     * The paths of the files and links with one of these names, in any folder: the upper ones first, then sorted; at most 500.
     * Those that are not UTF-8 are not among them.
     */
    async named(names: readonly string[]): Promise<string[]> {
      const pattern = `[\t/](${names.map((name) => name.replaceAll('.', '[.]')).join('|')})$`;
      const { stdout, stderr } = await git.script(place, NAMED, [commit, pattern]);
      if (stderr !== '')
        log.warn({ commit, stderr: stderr.slice(0, 500) }, 'the files of a commit cannot be listed');
      const paths = linesOf(stdout).map((line) => line.slice(line.indexOf('\t') + 1));
      return paths.filter((path) => !HIDDEN.test(path) && !path.includes('\uFFFD')).sort(upperFirst);
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

const NAMED = `git ls-tree -r -z --full-tree "$1" | tr '\\0\\n' '\\n\\001' | { LC_ALL=C grep -aE "$2" || [ $? = 1 ]; } | head -n 500`;
const FIND = `printf '%s\\n' "$1" | git cat-file --batch-check --follow-symlinks`;
const READ = `git cat-file blob "$1" | head -c "$2"`;
