import { isJsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { ModelMessage } from 'ai';
import { capText } from '../guards/cap-text.ts';
import { charsOf, outputValues, withOutputs } from './outputs.ts';
import { type KeepOutput, keptClause } from './prune.ts';

/** A low estimate of what a token of the outputs takes. */
const BYTES_PER_TOKEN = 2.5;
/** With less than this, a result only says where it is. */
const MIN_BYTES = 600;
const STUB_BYTES = 150;

/**
 * Shortens the newest results, those in the messages from `from` on, to about `maxTokens` together: each longer one keeps
 * its head, its tail and the lines that report errors, and names the file with the whole output. Short results stay as
 * they are, and the long ones share what is left.
 */
export function shortened(
  messages: readonly ModelMessage[],
  from: number,
  maxTokens: number,
  keep: KeepOutput,
): Promise<ModelMessage[]> {
  const sizes = outputValues(messages.slice(from)).map(bytesOf);
  const share = Math.max(STUB_BYTES, fairShare(sizes, maxTokens * BYTES_PER_TOKEN));
  return withOutputs(messages, { from, to: messages.length }, async ({ tool, value }) => {
    if (bytesOf(value) <= share) return undefined;
    const [name, text] = longestText(value);
    const kept = keptClause(text) ?? (await keep(tool, text));
    if (share < MIN_BYTES) return `[${Buffer.byteLength(text)} bytes left out; ${kept}]`;
    const rest = bytesOf(value) - Buffer.byteLength(text);
    const room = Math.max(MIN_BYTES, share - (name === undefined ? 0 : rest));
    const short = capText(text, Math.floor(room), kept);
    if (name === undefined || !isJsonObject(value) || rest > share) return short;
    return { ...value, [name]: short };
  });
}

const bytesOf = (value: JsonValue): number =>
  typeof value === 'string' ? Buffer.byteLength(value) : Buffer.byteLength(JSON.stringify(value));

/** The longest text field of an object, or the whole value as text. */
function longestText(value: JsonValue): [name: string | undefined, text: string] {
  if (typeof value === 'string') return [undefined, value];
  if (isJsonObject(value)) {
    const texts = Object.entries(value).flatMap(([name, field]): [string, string][] =>
      typeof field === 'string' ? [[name, field]] : [],
    );
    const longest = texts.toSorted(([, a], [, b]) => b.length - a.length)[0];
    if (longest !== undefined && longest[1].length > charsOf(value) / 2) return longest;
  }
  return [undefined, JSON.stringify(value, undefined, 1)];
}

/** The largest size `s` such that all sizes, each at most `s`, sum up to at most `total`. */
export function fairShare(sizes: readonly number[], total: number): number {
  let left = total;
  for (const [index, size] of sizes.toSorted((a, b) => a - b).entries()) {
    const share = left / (sizes.length - index);
    if (size > share) return share;
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}
