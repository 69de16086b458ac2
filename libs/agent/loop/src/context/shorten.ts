import { isJsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { ModelMessage } from 'ai';
import { capText } from '../guards/cap-text.ts';
import { outputValues, wholeText, withOutputs, withShortFields } from './outputs.ts';
import type { KeepOutput } from './prune.ts';

/** A low estimate of what a token of the outputs takes. */
const BYTES_PER_TOKEN = 2.5;
/** With less than this, a result only says where it is. */
const MIN_BYTES = 600;
const STUB_BYTES = 150;
/** Fields up to this length, such as an exit code, stay even then. */
const SHORT_CHARS = 40;

/**
 * Shortens the newest results, in the messages from `from` on, to about `maxTokens` together. Short ones stay, and long
 * ones share the rest: head, tail, lines with errors, and the name of the file with all.
 */
export function shortened(
  messages: readonly ModelMessage[],
  from: number,
  maxTokens: number,
  keep: KeepOutput,
): Promise<ModelMessage[]> {
  const sizes = outputValues(messages.slice(from)).map(bytesOf);
  const share = Math.max(STUB_BYTES, fairShare(sizes, maxTokens * BYTES_PER_TOKEN));
  return withOutputs(messages, { from, to: messages.length }, async ({ tool, value }) =>
    bytesOf(value) <= share ? undefined : withinShare(value, share, await keep(tool, wholeText(value))),
  );
}

/** The long fields of an object share what its short ones leave. With too little for a head and a tail, they are left out. */
function withinShare(value: JsonValue, share: number, kept: string): JsonValue {
  const stub = `[${bytesOf(value)} bytes left out; ${kept}]`;
  if (!isJsonObject(value))
    return share < MIN_BYTES ? stub : capText(wholeText(value), Math.floor(share), kept);
  const fields = Object.entries(value);
  const most = Math.floor(
    fairShare(
      fields.map(([, field]) => bytesOf(field)),
      share,
    ),
  );
  if (most < MIN_BYTES) return withShortFields(value, SHORT_CHARS, stub);
  return Object.fromEntries(
    fields.map(([name, field]) => [
      name,
      bytesOf(field) <= most ? field : capText(wholeText(field), most, kept),
    ]),
  );
}

const bytesOf = (value: JsonValue): number =>
  typeof value === 'string' ? Buffer.byteLength(value) : Buffer.byteLength(JSON.stringify(value));

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
