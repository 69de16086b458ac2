import { ToolError } from '@hermes-fleet/protocol/ports';
import { decode, encodingOf } from './files/encoding.ts';

const MAX_PAGE_BYTES = 48 * 1024;
const DEFAULT_LINES = 500;

/** Decodes a text file; throws ToolError for a binary one. */
export const textOf = (content: Buffer): string => decode(content, encodingOf(content));

/** Returns a page of lines, also bounded in bytes, and the offset of the next page. */
export function pageOf(content: string, first = 1, limit = DEFAULT_LINES) {
  const lines = content.split('\n');
  if (lines.at(-1) === '') lines.pop();
  if (first > Math.max(1, lines.length)) throw new ToolError(`the file has ${lines.length} lines`);
  const shown: string[] = [];
  let bytes = 0;
  for (const line of lines.slice(first - 1, first - 1 + limit)) {
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > MAX_PAGE_BYTES && shown.length > 0) break;
    shown.push(line);
  }
  const text = shown.join('\n');
  const last = first - 1 + shown.length;
  const cut = Buffer.byteLength(text) > MAX_PAGE_BYTES;
  return {
    content: cut ? Buffer.from(text).subarray(0, MAX_PAGE_BYTES).toString('utf8') : text,
    lines: lines.length,
    ...(last < lines.length ? { read_on_at: last + 1 } : {}),
    ...(cut ? { cut: 'this line is too long to show whole' } : {}),
  };
}
