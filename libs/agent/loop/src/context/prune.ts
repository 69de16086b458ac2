import { isJsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { ModelMessage } from 'ai';
import { isKept } from '../guards/spill.ts';
import {
  charsOf,
  type Output,
  outputValues,
  readPath,
  wholeText,
  withOutputs,
  withShortFields,
} from './outputs.ts';

/** A shorter output is not worth its stub. */
const MIN_CHARS = 600;
/** Fields of an output up to this length stay. */
const FIELD_CHARS = 200;
/** An upper estimate of a stub's length. */
const STUB_CHARS = 160;
/** A low estimate, so that a batch frees at least what it is expected to. */
const CHARS_PER_TOKEN = 4;

const STUB = '[pruned to save room:';
/** Keeps an output in a file, unless one has it. Resolves with the clause that says where it is, or why it is not kept. */
export type KeepOutput = (tool: string, text: string) => Promise<string>;

/** About how many tokens `pruned` would free in the messages before `end`. */
export function prunableTokens(messages: readonly ModelMessage[], end: number): number {
  const chars = outputValues(messages.slice(0, end))
    .filter(isPrunable)
    .reduce<number>((sum, value) => sum + charsOf(value) - STUB_CHARS, 0);
  return Math.floor(chars / CHARS_PER_TOKEN);
}

/**
 * Replaces the long outputs in the messages before `end` by stubs that name where each is
 * (docs/agent.md#long-conversations). One that could not be kept stays, unless `mayLose`.
 */
export function pruned(
  messages: readonly ModelMessage[],
  end: number,
  keep: KeepOutput,
  mayLose = false,
): Promise<ModelMessage[]> {
  return withOutputs(messages, { from: 0, to: end }, async (output) => {
    if (!isPrunable(output.value)) return undefined;
    const where = await whereIs(output, keep, mayLose);
    return where && withShortFields(output.value, FIELD_CHARS, `${STUB} ${where}]`);
  });
}

const isPrunable = (value: JsonValue): boolean => charsOf(value) >= MIN_CHARS && !isStub(value);

const isStub = (value: JsonValue): boolean =>
  typeof value === 'string'
    ? value.startsWith(STUB)
    : isJsonObject(value) && Object.values(value).some((field) => typeof field === 'string' && isStub(field));

async function whereIs(output: Output, keep: KeepOutput, mayLose: boolean): Promise<string | undefined> {
  const path = readPath(output);
  if (path !== undefined) return `a part of ${path}, which can be read again`;
  const clause = await keep(output.tool, wholeText(output.value));
  return mayLose || isKept(clause) ? `${charsOf(output.value)} characters; ${clause}` : undefined;
}
