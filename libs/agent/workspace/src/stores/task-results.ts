import { stat } from 'node:fs/promises';
import { FleetError } from '@hermes-fleet/protocol';
import { type ResultPart, SMALLER_PARTS } from '@hermes-fleet/protocol/api';
import type { Log, ResultCommits, ResultContent, TaskResults } from '@hermes-fleet/protocol/ports';
import { LEFT_OUT, READABLE } from '../git/diff.ts';
import { failureOf, type Git, type GitPlace } from '../git/git.ts';
import { receivePack } from './pack-file.ts';
import { MAX_FILE_BYTES, MAX_PACK_BYTES } from './quarantine.ts';

const READ_MS = 5 * 60_000;
const MIB = 1024 * 1024;
const MAX_DIFF_BYTES = 64 * MIB;

export interface TaskResultsOptions {
  readonly git: Git;
  /** Git sees the commits of results here. */
  readonly place: GitPlace;
  /** A new path for a file, which is removed when it is disposed of. */
  readonly passing: () => AsyncDisposable & { readonly file: string };
  /** The commit that the context of a result started from, as far as it is known apart from the result. */
  readonly baseOf: (contextId: string) => Promise<string | undefined>;
  /** True when the history has an end on purpose, so that nobody can have all of it. */
  readonly isShallow: () => Promise<boolean>;
  readonly log: Log;
}

/** Reads the results of tasks where git has them. */
export function createTaskResults(options: TaskResultsOptions): TaskResults {
  const { git, place, log } = options;

  /**
   * Runs a script whose output is a line and then the content. Its first exit codes say that commits are gone, and `REFUSED` that its
   * line is the reason of a refusal.
   */
  async function read(
    text: string,
    args: readonly string[],
    kind: ResultPart['kind'],
    { maxBytes, signal }: { readonly maxBytes: number; readonly signal: AbortSignal },
  ): Promise<ResultContent> {
    await using opening = new AsyncDisposableStack();
    const passing = opening.use(options.passing());
    const limits = { file: passing.file, maxBytes, timeoutMs: READ_MS, signal };
    const { result, header = '' } = await receivePack(git, place, { text, args }, limits);
    signal.throwIfAborted();
    if (result.killed === 'output')
      throw new FleetError(
        'ARTIFACT_TOO_LARGE',
        `the ${kind} is larger than ${Math.floor(maxBytes / MIB)} MiB: ${SMALLER_PARTS[kind]}`,
      );
    if (result.exitCode === GONE)
      throw new FleetError('NO_RESULT', 'the commits of the result are gone, as with a deleted context');
    if (result.exitCode === REFUSED) throw new FleetError('NO_RESULT', header);
    if (result.exitCode !== 0) {
      log.error(failureOf(result), 'git cannot read a result');
      throw new FleetError('INTERNAL', `the ${kind} cannot be read; the log of the worker has git’s output`);
    }
    const { size } = await stat(passing.file);
    const opened = opening.move();
    return { path: passing.file, bytes: size, [Symbol.asyncDispose]: () => opened.disposeAsync() };
  }

  return {
    async diff({ base, commit }, { path, stat, signal }) {
      const form = stat ? ['--stat=120'] : ['-p', '--binary', '--full-index'];
      const of = path === undefined ? LEFT_OUT : ['--', `:(top,literal)${path}`];
      const args = [base, commit, 'diff-tree', '-r', ...form, ...READABLE, '-M', base, commit, ...of];
      return read(DIFF, args, 'diff', { maxBytes: MAX_DIFF_BYTES, signal });
    },
    async file({ base, commit }, path, { signal }) {
      if (!isPlain(path))
        throw new FleetError('NO_RESULT', `no file of a result has the path ${JSON.stringify(path)}`);
      return read(FILE, [base, commit, path], 'file', { maxBytes: MAX_FILE_BYTES + 1, signal });
    },
    async bundle(result, { whole, signal }) {
      if (whole && (await options.isShallow()))
        throw new FleetError(
          'NO_RESULT',
          `the worker has a part of the history only: take the result into a repository that has the commit ${result.base}`,
        );
      const from = whole ? '' : await startOf(result);
      const args = [result.base, result.commit, from, result.branch];
      return read(BUNDLE, args, 'bundle', { maxBytes: MAX_PACK_BYTES, signal });
    },
  };

  async function startOf({ contextId, base }: ResultCommits): Promise<string> {
    return (await options.baseOf(contextId)) ?? base;
  }
}

/** False for a path that git could not have, or would read as another one. */
const isPlain = (path: string): boolean =>
  !path.includes('\0') && path.split('/').every((part) => !['', '.', '..'].includes(part));

const GONE = 91;
const REFUSED = 92;
/** Ends the script when one of the two commits is not there. */
const BOTH = `for id in "$1" "$2"; do git cat-file -e "$id^{commit}" 2>/dev/null || exit ${GONE}; done`;
const DIFF = `${BOTH}; shift 2
echo
exec git "$@"`;
const FILE = `${BOTH}
found=$(git --literal-pathspecs ls-tree "$2" -- "$3" | head -n 1 | cut -f 1)
set -- $found
case $1 in
  100*) echo; exec git cat-file blob "$3" ;;
  120000) echo "it is a symbolic link to $(git cat-file blob "$3" | tr '\\n' '?' | head -c 1000)" ;;
  040000) echo 'it is a folder: name a file in it' ;;
  160000) echo 'it is a repository of its own, of which the result has the id of a commit only' ;;
  *) echo 'there is no such file in the result' ;;
esac
exit ${REFUSED}`;
const BUNDLE = `${BOTH}
printf '\\n# v2 git bundle\\n'
[ -z "$3" ] || printf -- '-%s\\n' "$3"
printf '%s refs/heads/%s\\n\\n' "$2" "$4"
{ echo "$2"; [ -z "$3" ] || echo "^$3"; } | git pack-objects --revs --stdout --thin -q`;
