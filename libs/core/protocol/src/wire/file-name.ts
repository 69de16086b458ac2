import { extname } from 'node:path';

const MAX_NAME_BYTES = 120;
const MAX_EXTENSION_BYTES = 20;

/** Letters and digits of any script, their marks, and a few signs that mean nothing to a shell. */
const OTHER = /[^\p{L}\p{M}\p{N}._+@=,-]+/gu;

/**
 * A sender's name for a file as the name of one file: the last part of a path, without what a shell or a terminal could
 * misread, and never hidden. Undefined when nothing is left.
 */
export function safeName(name: string): string | undefined {
  const last = name
    .normalize('NFC')
    .split(/[/\\]/)
    .findLast((part) => /[^.\s]/.test(part));
  if (last === undefined) return undefined;
  const clean = last
    .toWellFormed()
    .replace(OTHER, '_')
    .replace(/^[._-]+/, '')
    .replace(/[._]+$/, '');
  return clean === '' ? undefined : shortened(clean);
}

/** The last part of an address's path; undefined without one. */
export function nameInUrl(url: string): string | undefined {
  const last = URL.parse(url)?.pathname.split('/').at(-1) ?? '';
  try {
    return safeName(decodeURIComponent(last));
  } catch {
    return safeName(last);
  }
}

/** The name with a number before its extension, from the second on. */
export function numbered(name: string, n: number): string {
  if (n === 1) return name;
  const extension = extname(name);
  return `${name.slice(0, name.length - extension.length)}-${n}${extension}`;
}

function shortened(name: string): string {
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name;
  const found = extname(name);
  const extension = Buffer.byteLength(found) <= MAX_EXTENSION_BYTES ? found : '';
  const room = MAX_NAME_BYTES - Buffer.byteLength(extension);
  return `${cutToBytes(name.slice(0, name.length - extension.length), room)}${extension}`;
}

function cutToBytes(text: string, max: number): string {
  let bytes = 0;
  let end = 0;
  for (const char of text) {
    bytes += Buffer.byteLength(char);
    if (bytes > max) break;
    end += char.length;
  }
  return text.slice(0, end);
}
