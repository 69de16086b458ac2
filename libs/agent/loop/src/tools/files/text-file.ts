import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import { ToolError } from '@hermes-fleet/protocol/ports';

/** The encoding of a text file. Every sequence of bytes is Windows-1252, which contains Latin-1. */
export type Encoding = 'UTF-8' | 'Windows-1252';

const decoder = new TextDecoder('windows-1252');

/** The byte of each character (https://encoding.spec.whatwg.org/#single-byte-decoder): every byte has a character. */
const BYTES: ReadonlyMap<string, number> = new Map(
  Array.from({ length: 256 }, (_, byte) => [decoder.decode(Uint8Array.of(byte)), byte]),
);

/** Throws ToolError for a binary file. */
export function encodingOf(content: Buffer): Encoding {
  if (content.includes(0)) throw new ToolError('the file is binary');
  return isUtf8(content) ? 'UTF-8' : 'Windows-1252';
}

export const decode = (content: Buffer, encoding: Encoding): string =>
  encoding === 'UTF-8' ? content.toString('utf8') : decoder.decode(content);

/** The bytes of a text, each as one character (`latin1`); undefined when the encoding lacks a character. */
export function encode(text: string, encoding: Encoding): string | undefined {
  if (encoding === 'UTF-8') return Buffer.from(text).toString('latin1');
  const bytes: number[] = [];
  for (const character of text) {
    const byte = BYTES.get(character);
    if (byte === undefined) return undefined;
    bytes.push(byte);
  }
  return Buffer.from(bytes).toString('latin1');
}

/** The first characters of a text that the encoding lacks. */
export const missingIn = (text: string, encoding: Encoding): string[] =>
  encoding === 'UTF-8' ? [] : [...new Set(text)].filter((character) => !BYTES.has(character)).slice(0, 5);

/** The content of an open file. Throws ToolError with `instead` for one with more than `maxBytes`. */
export async function readWhole(file: FileHandle, maxBytes: number, instead: string): Promise<Buffer> {
  const { size } = await file.stat();
  if (size > maxBytes) throw new ToolError(`the file has ${size} bytes; ${instead}`);
  const bytes = Buffer.alloc(size);
  const { bytesRead } = await file.read(bytes, 0, size, 0);
  return bytes.subarray(0, bytesRead);
}

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
