import { ToolError } from '@hermes-fleet/protocol/ports';
import { closestText } from './closest-text.ts';
import { decode, type Encoding, encode, encodingOf, missingIn } from './text-file.ts';

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

/** The most bytes that the file tools read and write. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;
const MAX_LINES_NAMED = 5;

/**
 * Applies edits in order, all or none, whatever the encoding. Line breaks of `old_text` match LF and CRLF, and those of
 * `new_text` become the place's. Throws ToolError without one single place, or beyond MAX_FILE_BYTES.
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

/** A file with a text at its end, in its encoding and line end. Throws ToolError for characters that it lacks. */
export function appended(before: Buffer, text: string): Buffer {
  const content = before.toString('latin1');
  const added = encodedFor(text, encodingOf(before), 'content');
  const end = { start: content.length, end: content.length };
  return Buffer.concat([
    before,
    ...placed(content, [end], added).map((one) => Buffer.from(one.text, 'latin1')),
  ]);
}

function encodedFor(text: string, encoding: Encoding, parameter: string): string {
  const encoded = encode(text, encoding);
  if (encoded !== undefined) return encoded;
  const missing = missingIn(text, encoding).join(' ');
  throw new ToolError(
    `the file is in ${encoding}, which lacks characters of ${parameter}: ${missing}; use others, or convert the file with a command`,
  );
}

function applied(content: string, edit: Edit, encoding: Encoding): { content: string; replaced: number } {
  const { matches, written } = findMatches(content, edit.old_text, encoding);
  if (matches.length === 0) throw new ToolError(notFound(content, edit.old_text, encoding));
  if (matches.length > 1 && !edit.replace_all) {
    const named = matches.slice(0, MAX_LINES_NAMED).map(({ start }) => lineAt(content, start));
    const more = matches.length > named.length ? ', …' : '';
    throw new ToolError(
      `old_text occurs ${matches.length} times, at lines ${named.join(', ')}${more}; give more of its surroundings, or replace_all`,
    );
  }
  const replacement = encodedFor(edit.new_text, written, 'new_text');
  const places = placed(content, matches, replacement);
  const bytes = places.reduce(
    (sum, { start, end, text }) => sum + text.length - (end - start),
    content.length,
  );
  if (bytes > MAX_FILE_BYTES)
    throw new ToolError(
      `a file may have at most ${MAX_FILE_BYTES} bytes, and the edited one would have ${bytes}`,
    );
  const parts: string[] = [];
  let from = 0;
  for (const { start, end, text } of places) {
    parts.push(content.slice(from, start), text);
    from = end;
  }
  parts.push(content.slice(from));
  return { content: parts.join(''), replaced: matches.length };
}

function findMatches(
  content: string,
  text: string,
  encoding: Encoding,
): { matches: readonly Match[]; written: Encoding } {
  // Text beyond ASCII that is found as UTF-8 in a file of mixed encodings stays so.
  const isAscii = encode(text, 'UTF-8') === text;
  const tried: readonly Encoding[] = encoding === 'UTF-8' || isAscii ? [encoding] : ['UTF-8', encoding];
  for (const written of tried) {
    const bytes = encode(text, written);
    const matches = bytes === undefined ? [] : findText(content, bytes);
    if (matches.length > 0) return { matches, written };
  }
  return { matches: [], written: encoding };
}

/** The matches, each with the replacement in the line ends that the file has at this place. */
function placed(
  content: string,
  matches: readonly Match[],
  text: string,
): readonly (Match & { readonly text: string })[] {
  if (!text.includes('\n')) return matches.map((match) => ({ ...match, text }));
  const lf = withLf(text);
  const crlf = withCrlf(text);
  const last = content.lastIndexOf('\n');
  if (last === -1) return matches.map((match) => ({ ...match, text }));
  let near = content.indexOf('\n');
  return matches.map((match) => {
    if (near < match.start) near = match.start > last ? last : content.indexOf('\n', match.start);
    return { ...match, text: content[near - 1] === '\r' ? crlf : lf };
  });
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

/** A part of a file, as offsets of its first character and of the one after its last. */
interface Match {
  readonly start: number;
  readonly end: number;
}

const MAX_MATCHES = 100_000;

/** Where a text occurs, without overlaps; a line break matches LF and CRLF. Throws ToolError beyond 100,000 matches. */
function findText(content: string, text: string): Match[] {
  const wanted = withLf(text);
  if (!wanted.includes('\n') || wanted.includes('\r') || !content.includes('\r\n'))
    return startsOf(content, wanted.includes('\r') ? text : wanted);
  const found = startsOf(withLf(content), wanted);
  const original = originalOffsets(content);
  return found.map(({ start, end }) => ({ start: original(start), end: original(end) }));
}

const withLf = (text: string): string => text.replaceAll('\r\n', '\n');
const withCrlf = (text: string): string => withLf(text).replaceAll('\n', '\r\n');

function startsOf(content: string, text: string): Match[] {
  const found: Match[] = [];
  for (let at = content.indexOf(text); at !== -1; at = content.indexOf(text, at + text.length)) {
    if (found.length === MAX_MATCHES)
      throw new ToolError(
        `old_text occurs more than ${MAX_MATCHES} times; give a longer one, or change the file with a command`,
      );
    found.push({ start: at, end: at + text.length });
  }
  return found;
}

/** The offset in the content of an offset in its form with LF. Asked in ascending order. */
function originalOffsets(content: string): (offset: number) => number {
  let removed = 0;
  let next = content.indexOf('\r\n');
  return (offset) => {
    while (next !== -1 && next - removed < offset) {
      removed += 1;
      next = content.indexOf('\r\n', next + 2);
    }
    return offset + removed;
  };
}
