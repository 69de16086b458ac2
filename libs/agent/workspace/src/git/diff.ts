/** Files at the top of the tree that no result has (docs/agent.md#progress-scratchpad-memory). */
const WITHOUT_RESULT = ['.scratch', 'PROGRESS.json', '.PROGRESS.json.tmp', 'PROGRESS.invalid-*.json'];
/** Pathspecs that leave it out of commits and of `files_changed`. */
export const LEFT_OUT = ['--', '.', ...WITHOUT_RESULT.map((path) => `:(exclude,top)${path}`)];
/** Shell words that are its pathspecs, and a regular expression for its entries in `git ls-tree`. */
export const LEFT_OUT_WORDS = WITHOUT_RESULT.map((path) => `'${path}'`).join(' ');
export const LEFT_OUT_ENTRIES = `\t(${WITHOUT_RESULT.map((path) => path.replaceAll('.', '\\.').replace('*', '.*')).join('|')})$`;

const PLAIN = ['--no-renames', '--no-ext-diff', '--no-textconv'];
/** Options of a diff that lists paths, independent of the repository's settings. */
export const NAMES = ['--name-status', '-z', ...PLAIN];
/** Options of a readable diff, independent of the repository's settings. */
export const READABLE = ['--no-color', ...PLAIN, '--src-prefix=a/', '--dst-prefix=b/'];

/** Parses the output of a diff with `NAMES` into sorted paths. */
export const pathsOf = (output: string): string[] =>
  output
    .split('\0')
    .filter((_, index) => index % 2 === 1)
    .sort();

export const shortened = (diff: string, maxChars: number): string =>
  diff.length > maxChars ? `${diff.slice(0, maxChars)}\n[the diff goes on: look at the files]` : diff;
