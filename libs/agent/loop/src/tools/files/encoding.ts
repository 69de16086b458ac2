import { isUtf8 } from 'node:buffer';
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
