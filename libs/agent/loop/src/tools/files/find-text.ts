import { ToolError } from '@hermes-fleet/protocol/ports';

/** A part of a file, as offsets of its first character and of the one after its last. */
export interface Match {
  readonly start: number;
  readonly end: number;
}

const MAX_MATCHES = 100_000;

/**
 * Where a text occurs, in order and without overlaps. A line break in the text matches LF and CRLF, always as a whole; a text
 * with a carriage return that ends no line is looked for as it is. Throws ToolError for more than 100,000 matches.
 */
export function findText(content: string, text: string): Match[] {
  const wanted = withLf(text);
  if (!wanted.includes('\n') || wanted.includes('\r') || !content.includes('\r\n'))
    return startsOf(content, wanted.includes('\r') ? text : wanted);
  const found = startsOf(withLf(content), wanted);
  const original = originalOffsets(content);
  return found.map(({ start, end }) => ({ start: original(start), end: original(end) }));
}

export const withLf = (text: string): string => text.replaceAll('\r\n', '\n');
export const withCrlf = (text: string): string => withLf(text).replaceAll('\n', '\r\n');

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
