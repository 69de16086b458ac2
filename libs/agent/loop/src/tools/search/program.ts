import { join } from 'node:path';
import { type Clock, ToolError } from '@hermes-fleet/protocol/ports';
import { COMMAND_ENV, type CommandResult, runCommand } from '@hermes-fleet/workspace';
import type { ToolContext } from '../../run/conversation.ts';
import { PACKAGES } from './file-walk.ts';
import type { GrepMatches, GrepPlace, GrepSearch } from './grep-search.ts';

const TIMEOUT_S = 20;
const KEEP_BYTES = 8 * 1024;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_MEMORY_KB = 2_000_000;
const MAX_LINE_BYTES = 8192;

const NO_PROGRAM = 127;
const MOVED = 91;
/** Prints an empty line first, which tells a failure to start apart from a grep that finds nothing. */
const SCRIPT = `echo; test "$1" = - || test "$1" = "$(stat -c %d:%i .)" || exit ${MOVED}; shift
command -v grep >/dev/null || exit ${NO_PROGRAM}; ulimit -v ${MAX_MEMORY_KB}; exec grep "$@"`;

/**
 * Searches with `grep`, confined, in the open directory or file itself, so that no planted symlink has an effect. Resolves
 * with notes for the model.
 */
export async function runGrep(
  search: GrepSearch,
  place: GrepPlace,
  found: GrepMatches,
  clock: Clock,
  context: ToolContext,
): Promise<string[] | 'no program'> {
  const dialects = search.fixed ? ['-F'] : ['-P', '-E'];
  for (const dialect of dialects) {
    const lines = new LineReader((path, line, text) => found.add(nameOf(place, path), line, text));
    const result = await run([dialect, ...options(search, place)], place, lines, clock, context);
    if (!lines.begun) throw new ToolError(`the search could not be started: ${firstLines(result.stderr)}`);
    if (result.exitCode === NO_PROGRAM) return 'no program';
    if (result.exitCode === MOVED) throw new ToolError('the directory was moved meanwhile; try again');
    if (dialect === '-P' && UNKNOWN_DIALECT.test(result.stderr)) continue;
    const notes = notesOf(result);
    if (found.lines === 0 && result.killed === undefined && result.exitCode !== 1 && result.stderr !== '')
      throw new ToolError(notes.join('; '));
    return dialect === '-E' ? ['read as a POSIX extended expression', ...notes] : notes;
  }
  throw new ToolError('the grep of this machine knows no regular expressions; use fixed: true');
}

/** Matches the error of a grep that was built without Perl expressions. */
const UNKNOWN_DIALECT = /perl|-P\b|option: P|option -- '?P/i;

function options(search: GrepSearch, { kind }: GrepPlace): string[] {
  const args = ['-n', '-H', '-Z', '-I', '-s', '-D', 'skip'];
  if (search.ignoreCase) args.push('-i');
  if (search.include !== undefined && kind === 'directory') args.push(`--include=${search.include}`);
  for (const name of ['.git', '.scratch', ...(search.packages ? [] : [PACKAGES])])
    args.push(`--exclude-dir=${name}`);
  const where = kind === 'directory' ? ['-r', '-e', search.pattern, '.'] : ['-e', search.pattern, '-'];
  return [...args, ...where];
}

async function run(
  args: readonly string[],
  { handle, kind }: GrepPlace,
  lines: LineReader,
  clock: Clock,
  { workspace, signal }: ToolContext,
): Promise<CommandResult> {
  const { dev, ino } = await handle.stat({ bigint: true });
  const isTree = kind === 'directory';
  const line = workspace.wrap('/bin/sh', ['-c', SCRIPT, 'sh', isTree ? `${dev}:${ino}` : '-', ...args]);
  return runCommand(line, {
    cwd: isTree ? `/proc/self/fd/${handle.fd}` : workspace.dir,
    env: COMMAND_ENV,
    timeoutMs: TIMEOUT_S * 1000,
    keepBytes: KEEP_BYTES,
    maxBytes: MAX_BYTES,
    ...(isTree ? {} : { stdin: handle.fd }),
    onStdout: (chunk) => lines.push(chunk),
    signal,
    clock,
  });
}

const nameOf = ({ kind, path }: GrepPlace, found: string): string =>
  kind === 'file' ? path : join(path, found);

function notesOf({ killed, stderr, exitCode }: CommandResult): string[] {
  if (killed === 'timeout') return [`stopped after ${TIMEOUT_S} s, so there may be more: narrow the path`];
  if (killed === 'output') return ['stopped after too many matches: narrow the pattern'];
  if (stderr !== '') return [firstLines(stderr)];
  return exitCode !== null && exitCode > 1 ? ['some files could not be read'] : [];
}

const firstLines = (text: string): string => text.trim().split('\n').slice(0, 3).join('; ').slice(0, 500);

/** Parses `path NUL line:text` from a stream; keeps only the beginning of a long line. */
class LineReader {
  readonly #onMatch: (path: string, line: number, text: string) => void;
  #line: Buffer[] = [];
  #bytes = 0;
  begun = false;

  constructor(onMatch: (path: string, line: number, text: string) => void) {
    this.#onMatch = onMatch;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, end));
      this.#end();
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(part: Buffer): void {
    const kept = part.subarray(0, Math.max(0, MAX_LINE_BYTES - this.#bytes));
    if (kept.length === 0) return;
    this.#line.push(Buffer.from(kept));
    this.#bytes += kept.length;
  }

  #end(): void {
    const line = Buffer.concat(this.#line).toString('utf8');
    this.#line = [];
    this.#bytes = 0;
    if (!this.begun) {
      this.begun = line === '';
      return;
    }
    const [, path, number, text] = /^([^\0]*)\0(\d+):(.*)$/s.exec(line) ?? [];
    if (path !== undefined && text !== undefined)
      this.#onMatch(path, Number(number), text.replace(/\r$/, ''));
  }
}
