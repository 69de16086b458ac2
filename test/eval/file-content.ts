import { isUtf8 } from 'node:buffer';
import { z } from 'zod';

/** A file of a brief: its text, or bytes as a text in Latin-1 or in base64. */
export const FileContent = z
  .union([
    z.string(),
    z.strictObject({ latin1: z.string() }),
    z.strictObject({ base64: z.base64() }),
    z.instanceof(Uint8Array),
  ])
  .transform((content): Uint8Array => {
    if (content instanceof Uint8Array) return content;
    if (typeof content === 'string') return Buffer.from(content);
    return 'latin1' in content
      ? Buffer.from(content.latin1, 'latin1')
      : Buffer.from(content.base64, 'base64');
  });

/**
 * A file with texts replaced, in its own encoding: UTF-8, else Latin-1. All other bytes stay. Throws when a text does not
 * occur exactly once: then the brief is wrong.
 */
export function edited(bytes: Uint8Array, edits: Readonly<Record<string, string>>): Buffer {
  const encoding = isUtf8(bytes) ? 'utf8' : 'latin1';
  const view = (text: string): string => Buffer.from(text, encoding).toString('latin1');
  const result = Object.entries(edits).reduce((content, [from, to]) => {
    const parts = content.split(view(from));
    if (parts.length !== 2)
      throw new Error(`the brief is wrong: ${JSON.stringify(from)} occurs ${parts.length - 1} times`);
    return parts.join(view(to));
  }, Buffer.from(bytes).toString('latin1'));
  return Buffer.from(result, 'latin1');
}
