import { z } from 'zod';

const fallbacks = z.registry<{ readonly readAs: string }>();

/**
 * An enum in a message that reports something. A newer minor version may add words to it, and rejecting the message
 * would lose finished work or a healthy peer. An unknown word is therefore read as `readAs`, the most cautious known
 * word (see `decodeWith`). Enums in a TASK_DISPATCH are plain: a request is understood or rejected.
 */
export function reported<const Words extends readonly [string, ...string[]]>(
  words: Words,
  readAs: Words[number],
) {
  const schema = z.enum(words);
  fallbacks.add(schema, { readAs });
  return schema;
}

/** The substitute for unknown words; undefined for a plain enum, which rejects them. */
export function readAs(schema: z.core.$ZodType): string | undefined {
  return fallbacks.get(schema)?.readAs;
}
