import { z } from 'zod';

const fallbacks = z.registry<{ readonly readAs: string }>();

/**
 * A closed list of words in a message that reports. A newer minor version may add to it, and refusing the message then
 * would lose finished work or a healthy peer: its new word is read as `readAs`, the most careful of those known (see
 * decodeWith). Lists in a TASK_DISPATCH are plain enums: what a caller asks for is understood, or refused.
 */
export function reported<const Words extends readonly [string, ...string[]]>(
  words: Words,
  readAs: Words[number],
) {
  const schema = z.enum(words);
  fallbacks.add(schema, { readAs });
  return schema;
}

/** What a word that the schema's list lacks is read as; undefined where it is refused. */
export function readAs(schema: z.core.$ZodType): string | undefined {
  return fallbacks.get(schema)?.readAs;
}
