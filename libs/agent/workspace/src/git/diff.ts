/** Pathspecs that leave files out of commits and of `files_changed` (docs/agent.md#progress-scratchpad-memory). */
export const LEFT_OUT = [
  ...['--', '.', ':(exclude,top).scratch', ':(exclude,top)PROGRESS.json'],
  ...[':(exclude,top).PROGRESS.json.tmp', ':(exclude,top)PROGRESS.invalid-*.json'],
];

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
