import { z } from 'zod';
import type { GuardedCall } from '../../run/guards.ts';
import { commandWords, operands } from '../commands/command-words.ts';
import { type ShellCommand, shellCommands } from '../commands/shell-line.ts';
import { idOf, marksOf } from './line-marks.ts';

/** What a call replaced in a file, as far as its input shows it. */
export interface Edit {
  readonly path: string;
  readonly id: string;
  /** Marks of the lines that it removed; undefined if it wrote the file whole. */
  readonly was: readonly string[] | undefined;
  readonly now: readonly string[];
  /** Identifies the content of a file that is written whole, unless it is blank. */
  readonly content?: string;
  /** Marks of the lines by which it found its place. */
  readonly around: readonly string[];
}

/** In characters; a longer script of sed is not read as a replacement. */
const MAX_SCRIPT = 2048;
/** Marks kept of each side of an edit, and of a file that is written whole. */
const MAX_MARKS = 12;
export const MAX_LINES = 250;

const Piece = z.object({ old_text: z.string(), new_text: z.string() });
const EditInput = z.union([
  z.object({ edits: z.array(Piece).min(1) }).transform(({ edits }) => edits),
  Piece.transform((piece) => [piece]),
]);
const WriteInput = z.object({ content: z.string(), append: z.boolean().default(false) });
const ShellInput = z.object({ command: z.string() });

/** The edits of a successful call; `wrote` are its normalized paths. Empty where the input does not show the content. */
export function editsOf(
  { tool, input }: Pick<GuardedCall, 'tool' | 'input'>,
  wrote: readonly string[],
): Edit[] {
  if (tool === 'shell_exec' || tool === 'shell_start') {
    const { command } = ShellInput.safeParse(input).data ?? { command: '' };
    return shellCommands(command).flatMap(shellEdits);
  }
  const [path] = wrote;
  if (path === undefined) return [];
  if (tool === 'write_file') {
    const written = WriteInput.safeParse(input).data;
    return written === undefined ? [] : [fileWrite(path, written.content, written.append)];
  }
  const pieces = EditInput.safeParse(input).data ?? [];
  return pieces.map(({ old_text: old, new_text: text }) => replacement(path, old, text));
}

function wholeFile(path: string, content: string): Edit {
  const now = marksOf(content, MAX_LINES);
  const known = now.length > 0 ? { content: idOf('content', content) } : {};
  return { path, id: idOf(path, content), was: undefined, now, around: [], ...known };
}

/** The changed lines alone: those that both texts begin or end with are its surroundings. */
function replacement(path: string, before: string, after: string): Edit {
  const old = marksOf(before, MAX_LINES);
  const now = marksOf(after, MAX_LINES);
  let head = 0;
  while (head < Math.min(old.length, now.length) && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(old.length, now.length) - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  return {
    path,
    id: idOf(path, before, after),
    was: old.slice(head, old.length - tail).slice(0, MAX_MARKS),
    now: now.slice(head, now.length - tail).slice(0, MAX_MARKS),
    around: old.slice(0, MAX_MARKS),
  };
}

/** A backslash begins one branch only: otherwise the time doubles with each of them. */
const REPLACEMENT = /^\d*(?:,\d+)?s([/|#,])((?:\\.|(?!\1)[^\\\n])+)\1((?:\\.|(?!\1)[^\\\n])*)\1\w*$/;

/** `echo … > f`, `cat > f` with a here-document, and `sed -i s/a/b/ f`. */
function shellEdits({ words, outputs, appends, inputs }: ShellCommand): Edit[] {
  const command = commandWords(words);
  const text = writtenText(command?.program, command?.args ?? [], inputs);
  const written =
    text === undefined ? [] : outputs.map((path) => fileWrite(path, text, appends.includes(path)));
  if (command?.program !== 'sed' || !command.args.some((arg) => /^-[a-zA-Z]*i|^--in-place/.test(arg)))
    return written;
  const [script = '', ...paths] = operands(command.args);
  const [, , old, now] = (script.length <= MAX_SCRIPT && REPLACEMENT.exec(script)) || [];
  if (old === undefined || now === undefined) return written;
  return [...written, ...paths.map((path) => replacement(path, old, now))];
}

function fileWrite(path: string, text: string, appends: boolean): Edit {
  if (!appends) return wholeFile(path, text);
  const now = marksOf(text, MAX_MARKS);
  return { path, id: idOf(path, '>>', text), was: [], now, around: [] };
}

function writtenText(program: string | undefined, args: readonly string[], inputs: readonly string[]) {
  if (program === 'echo' || program === 'printf') return args.join(' ');
  const [body] = inputs;
  return program === 'cat' && args.length === 0 && body?.includes('\n') ? body : undefined;
}
