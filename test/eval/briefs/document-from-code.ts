import { after, calls, read, type Script, says, sh, write } from '../script/script.ts';

const DOC = `# sync

Copies what has changed from one folder to another.

| option | default | meaning |
|---|---|---|
| \`--from\` | required | the source; short: \`-f\` |
| \`--to\` | required | the target; short: \`-t\` |
| \`--dry-run\` | false | copies nothing |
| \`--jobs\` | 4 | files that are copied at a time, 1 to 64; short: \`-j\` |
| \`--retries\` | 3 | further attempts for a file, 0 or more |
| \`--exclude\` | none | what is left out; may be given several times |
| \`--keep-mtime\` | true | keeps the time of the last change |
| \`--quiet\` | false | prints nothing; short: \`-q\` |

\`--no-keep-mtime\` switches that option off. The variable \`SYNC_JOBS\` changes the default of \`--jobs\`.

The exit code is 64 when \`--from\` or \`--to\` is missing or a number is not allowed. 74 is set aside for errors of files.
`;

export const script: Script = {
  turns: [
    [
      calls(sh('git ls-files')),
      after([/bin\/sync\.mjs/], read('bin/sync.mjs'), read('src/limits.mjs'), read('src/sync.mjs')),
      after([/SYNC_JOBS/], write('guide/sync.md', DOC)),
      calls(read('guide/sync.md')),
      says('guide/sync.md describes the eight options, the variable and the exit codes.'),
    ],
  ],
};
