import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { isJsonObject } from '@hermes-fleet/protocol';
import type { ToolResult } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import type { GuardedCall } from '../../run/guards.ts';
import { commandWords } from '../commands/command-words.ts';
import { outputText } from '../commands/output-text.ts';
import { shellCommands } from '../commands/shell-line.ts';

/** Characters compared at the start and at the end of an output. */
const LOOK_CHARS = 32 * 1024;
const KEY_CHARS = 20;

const Input = z.record(z.string(), z.unknown());

/** The processes that these tools start have a new id each time. */
const PROCESS_TOOLS = /^shell_(?:start|output|stop)$/;

/** Identifies equal calls with equal results; with `masks`, apart from times and addresses, which tests print. */
export function callKey(
  { tool, input }: Pick<GuardedCall, 'tool' | 'input'>,
  result: ToolResult,
  masks: boolean,
): string {
  const text = outputText(result.output);
  const shown = masks ? plain(text) : ends(text);
  if (!PROCESS_TOOLS.test(tool)) return hash([tool, stable(input), shown]);
  return hash([tool, withoutId(stable(input)), withoutId(shown)]);
}

const withoutId = (json: string): string => json.replace(/"id":(?:"[^"]*"|\d+)/g, '"id":#');

/** Results with fewer characters are too common to be told apart. */
const MIN_RESULT_CHARS = 80;

/** Identifies equal results of different calls about the same targets, without their frame. Undefined for short ones. */
export function resultKey(
  call: Pick<GuardedCall, 'tool' | 'input'>,
  { output }: ToolResult,
): string | undefined {
  const shown = plain(textsOf(output).join('\n'))
    .replace(/^[ \t]*\d+(?:\t|:|→|\|)/gm, '')
    .replace(/\s+/g, ' ')
    .trim();
  return shown.length < MIN_RESULT_CHARS ? undefined : hash(['=', ...targetsOf(call), shown]);
}

/** Identifies equal errors: same tool, same target, and same text apart from times and addresses. */
export function errorKey({ tool, input }: GuardedCall, { output, exitCode }: ToolResult): string {
  const text = plain(outputText(output));
  // Without output, the command itself identifies the error.
  if (tool === 'shell_exec') return hash([tool, String(exitCode), text.trim() === '' ? stable(input) : text]);
  const fields = Input.safeParse(input);
  const about = fields.success ? (fields.data.path ?? fields.data.url) : undefined;
  return hash([tool, typeof about === 'string' ? normal(about) : stable(input), text]);
}

const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z]`, 'g');

const ends = (text: string): string =>
  text.length > 2 * LOOK_CHARS ? `${text.slice(0, LOOK_CHARS)}${text.slice(-LOOK_CHARS)}` : text;

/** Masks what differs between runs: times, durations, addresses, process IDs and temporary paths. */
function plain(text: string): string {
  return ends(text)
    .replace(ESCAPES, '')
    .replace(/\b\d+(?:\.\d+)? ?(?:ms|s|sec|secs|seconds|m|min|µs|us|ns)\b/g, '#')
    .replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?|\b\d\d:\d\d:\d\d(?:\.\d+)?\b/g, '#')
    .replace(/\bduration_ms:? ?[\d.]+/g, '#')
    .replace(/\b0x[0-9a-f]+\b/gi, '#')
    .replace(/\b(pid|PID)[ :=]+\d+/g, '#')
    .replace(/\/tmp\/[\w./-]+/g, '#');
}

/** JSON with sorted keys, normalized paths, and normalized whitespace and pauses in commands. */
function stable(value: unknown, key = ''): string {
  if (typeof value === 'string') {
    if (key === 'command')
      return JSON.stringify(
        value
          .trim()
          .replace(/\s+/g, ' ')
          .replace(/\bsleep \d\S*/g, 'sleep #'),
      );
    return JSON.stringify(key === 'path' ? normal(value) : value);
  }
  if (Array.isArray(value)) return `[${value.map((one) => stable(one)).join()}]`;
  if (!isJsonObject(value)) return JSON.stringify(value) ?? 'null';
  const fields = Object.keys(value).sort();
  return `{${fields.map((name) => `${JSON.stringify(name)}:${stable(value[name], name)}`).join()}}`;
}

const normal = (path: string): string => posix.normalize(path).replace(/(?<=.)\/$/, '');

function hash(parts: readonly string[]): string {
  const digest = createHash('sha256');
  for (const part of parts) digest.update(`${part.length}:${part}`);
  return digest.digest('hex').slice(0, KEY_CHARS);
}

/** Programs that show a file, or a part of it that a number names. */
const SHOW: ReadonlySet<string> = new Set('cat head tail less more nl bat'.split(' '));
/** Programs whose first operand is a script. */
const SCRIPTED: ReadonlySet<string> = new Set(['sed', 'awk', 'gawk']);

/** The targets of a call: the texts of its input, or what a command line names, without options and line numbers. */
function targetsOf({ tool, input }: Pick<GuardedCall, 'tool' | 'input'>): string[] {
  const isCommand = tool === 'shell_exec' && isJsonObject(input) && typeof input.command === 'string';
  const found = isCommand ? givenIn(String(input.command)) : textsOf(input);
  return [...new Set(found.map((name) => posix.normalize(name)))].sort();
}

function givenIn(line: string): string[] {
  return shellCommands(line).flatMap(({ words, inputs }) => {
    const command = commandWords(words);
    if (command === undefined) return [...words, ...inputs];
    const { program, args } = command;
    const before = words.filter((word) => /^[A-Za-z_]\w*=/.test(word) && !args.includes(word));
    const named = args.flatMap((arg) =>
      arg.startsWith('-') ? arg.slice(arg.indexOf('=') + 1 || arg.length) || [] : arg,
    );
    const about = SHOW.has(program) ? named.filter((arg) => !/^\d+$/.test(arg)) : named;
    return [...before, ...(SCRIPTED.has(program) ? about.slice(1) : about), ...inputs];
  });
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return isJsonObject(value) ? Object.values(value).flatMap(textsOf) : [];
}
