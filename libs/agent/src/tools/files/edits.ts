import { ToolError } from '@hermes-fleet/protocol';
import { closestText } from './closest-text.ts';
import { decode, type Encoding, encode, encodingOf, missingIn } from './encoding.ts';

/** One replacement. */
export interface Edit {
  readonly old_text: string;
  readonly new_text: string;
  readonly replace_all?: boolean | undefined;
}

export interface Edited {
  readonly content: Buffer;
  readonly encoding: Encoding;
  readonly replaced: number;
}

/** A text that is longer is looked for with the line ends that it has. */
const MAX_FLEXIBLE_CHARS = 200_000;
const MAX_LINES_NAMED = 5;

/**
 * Applies edits in order. All bytes but those of the replaced texts stay as they are, in any encoding. A line break in
 * `old_text` also matches CRLF, and the line breaks of `new_text` become those of the place. In a file that is not UTF-8, a
 * text is looked for in UTF-8 and in Windows-1252. Throws ToolError when one edit has no single place; then none applies.
 */
export function applyEdits(before: Buffer, edits: readonly Edit[]): Edited {
  const encoding = encodingOf(before);
  // One character for each byte: what is not replaced cannot change.
  let content = before.toString('latin1');
  let replaced = 0;
  for (const [index, edit] of edits.entries()) {
    try {
      const result = applied(content, edit, encoding);
      content = result.content;
      replaced += result.replaced;
    } catch (error) {
      if (!(error instanceof ToolError) || edits.length === 1) throw error;
      throw new ToolError(`edits[${index}], and with it all edits, was not applied: ${error.message}`);
    }
  }
  return { content: Buffer.from(content, 'latin1'), encoding, replaced };
}

interface Match {
  readonly start: number;
  readonly end: number;
}

function applied(content: string, edit: Edit, encoding: Encoding): { content: string; replaced: number } {
  const { matches, written } = find(content, edit.old_text, encoding);
  if (matches.length === 0) throw new ToolError(notFound(content, edit.old_text, encoding));
  if (matches.length > 1 && !edit.replace_all) {
    const named = matches.slice(0, MAX_LINES_NAMED).map(({ start }) => lineAt(content, start));
    const more = matches.length > named.length ? ', …' : '';
    throw new ToolError(
      `old_text occurs ${matches.length} times, at lines ${named.join(', ')}${more}; give more of its surroundings, or replace_all`,
    );
  }
  const replacement = encode(edit.new_text, written);
  if (replacement === undefined)
    throw new ToolError(
      `the file is in ${written}, which lacks characters of new_text: ${missingIn(edit.new_text, written).join(' ')}; use others, or convert the file with a command`,
    );
  const parts: string[] = [];
  let from = 0;
  for (const { start, end } of matches) {
    parts.push(content.slice(from, start), withLineEnds(replacement, content, start));
    from = end;
  }
  parts.push(content.slice(from));
  return { content: parts.join(''), replaced: matches.length };
}

/** The matches, and the encoding in which the text is written in the file. */
function find(
  content: string,
  text: string,
  encoding: Encoding,
): { matches: readonly Match[]; written: Encoding } {
  // Text beyond ASCII that is found as UTF-8 in a file of mixed encodings stays so.
  const isAscii = encode(text, 'UTF-8') === text;
  const tried: readonly Encoding[] = encoding === 'UTF-8' || isAscii ? [encoding] : ['UTF-8', encoding];
  for (const written of tried) {
    const bytes = encode(text, written);
    const matches = bytes === undefined ? [] : matchesOf(content, bytes);
    if (matches.length > 0) return { matches, written };
  }
  return { matches: [], written: encoding };
}

function matchesOf(content: string, text: string): Match[] {
  const exact: Match[] = [];
  for (let at = content.indexOf(text); at !== -1; at = content.indexOf(text, at + text.length))
    exact.push({ start: at, end: at + text.length });
  if (exact.length > 0 || !text.includes('\n') || text.length > MAX_FLEXIBLE_CHARS) return exact;
  const lines = text.split(/\r?\n/).map((line) => line.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return [...content.matchAll(new RegExp(lines.join('\\r?\\n'), 'g'))].map(({ 0: found, index }) => ({
    start: index,
    end: index + found.length,
  }));
}

/** The text with the line ends that the file has at this place. */
function withLineEnds(text: string, content: string, at: number): string {
  if (!text.includes('\n')) return text;
  const next = content.indexOf('\n', at);
  const near = next === -1 ? content.lastIndexOf('\n', at) : next;
  return near > 0 && content[near - 1] === '\r' ? text.replace(/\r?\n/g, '\r\n') : text;
}

function notFound(content: string, text: string, encoding: Encoding): string {
  const readable = decode(Buffer.from(content, 'latin1'), encoding);
  const close = closestText(readable, text);
  return close === undefined
    ? 'old_text does not occur in the file, nor anything like it; read it again'
    : `old_text does not occur in the file. The closest text is ${close.where}${close.isWhitespace ? ', which differs in white space only' : ''}; copy it exactly:\n${close.text}`;
}

function lineAt(content: string, at: number): number {
  let line = 1;
  for (let next = content.indexOf('\n'); next !== -1 && next < at; next = content.indexOf('\n', next + 1))
    line += 1;
  return line;
}
