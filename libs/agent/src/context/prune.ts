import { isJsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { ModelMessage } from 'ai';
import { outputText } from '../guards/commands/output-text.ts';
import { charsOf, type Output, outputValues, readPath, withOutputs, withShortFields } from './outputs.ts';

/** A shorter output is not worth its stub. */
const MIN_CHARS = 600;
/** Fields of an output up to this length stay. */
const FIELD_CHARS = 200;
/** An upper estimate of a stub's length. */
const STUB_CHARS = 160;
/** A low estimate, so that a batch frees at least what it is expected to. */
const CHARS_PER_TOKEN = 4;

const STUB = '[pruned to save room:';
/** The clause by which an output that was shortened when it was made names its file. */
const KEPT = /the full output is in (\.scratch\/outputs\/[\w.-]+\.txt)/;

/** The clause in a shortened output that names the file with all of it; undefined when there is none. */
export const keptClause = (text: string): string | undefined => KEPT.exec(text)?.[0];

/** Keeps an output for the model to read again. Returns the clause that says where it is, or why it was not kept. */
export type KeepOutput = (tool: string, text: string) => Promise<string>;

/** About how many tokens `pruned` would free in the messages before `end`. */
export function prunableTokens(messages: readonly ModelMessage[], end: number): number {
  const chars = outputValues(messages.slice(0, end))
    .filter(isPrunable)
    .reduce<number>((sum, value) => sum + charsOf(value) - STUB_CHARS, 0);
  return Math.floor(chars / CHARS_PER_TOKEN);
}

/**
 * Replaces the long tool outputs in the messages before `end` by stubs (docs/agent.md#long-conversations). A stub names
 * where the output is: the file that was read, the file that already has the output, or the one that `keep` writes.
 */
export function pruned(
  messages: readonly ModelMessage[],
  end: number,
  keep: KeepOutput,
): Promise<ModelMessage[]> {
  return withOutputs(messages, { from: 0, to: end }, async (output) =>
    isPrunable(output.value)
      ? withShortFields(output.value, FIELD_CHARS, `${STUB} ${await whereIs(output, keep)}]`)
      : undefined,
  );
}

const isPrunable = (value: JsonValue): boolean => charsOf(value) >= MIN_CHARS && !isStub(value);

const isStub = (value: JsonValue): boolean =>
  typeof value === 'string'
    ? value.startsWith(STUB)
    : isJsonObject(value) && Object.values(value).some((field) => typeof field === 'string' && isStub(field));

async function whereIs(output: Output, keep: KeepOutput): Promise<string> {
  const { tool, value } = output;
  const path = readPath(output);
  if (path !== undefined) return `a part of ${path}, which can be read again`;
  const text = textOf(output);
  return `${charsOf(value)} characters; ${keptClause(text) ?? (await keep(tool, text))}`;
}

/** The whole output as a text for a file. */
function textOf({ value }: Output): string {
  if (isJsonObject(value) && 'exit_code' in value) return outputText(value);
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 1);
}
