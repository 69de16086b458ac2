import { isJsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { ModelMessage, ToolContent, ToolResultPart } from 'ai';
import { z } from 'zod';
import { outputText } from '../guards/commands/output-text.ts';
import { callsIn, outputPart } from '../messages/history.ts';

/** One tool output of a conversation. */
export interface Output {
  readonly tool: string;
  /** The input of the call that it answers. */
  readonly input: unknown;
  readonly value: JsonValue;
}

/** Returns the value to show instead; undefined to leave the output as it is. */
type ReplaceOutput = (output: Output) => Promise<JsonValue | undefined>;

/**
 * Replaces tool outputs in the messages from index `from` to before `to`. Nothing else changes: each result still answers
 * its call, and says as before whether the call succeeded. Messages without a replaced output are the same objects.
 */
export async function withOutputs(
  messages: readonly ModelMessage[],
  range: { readonly from: number; readonly to: number },
  replace: ReplaceOutput,
): Promise<ModelMessage[]> {
  const inputs = new Map<string, unknown>();
  const changed: ModelMessage[] = [];
  for (const [index, message] of messages.entries()) {
    for (const { toolCallId, input } of callsIn([message])) inputs.set(toolCallId, input);
    const isInRange = index >= range.from && index < range.to;
    changed.push(
      isInRange && message.role === 'tool' ? await withReplaced(message, inputs, replace) : message,
    );
  }
  return changed;
}

async function withReplaced(
  message: Extract<ModelMessage, { role: 'tool' }>,
  inputs: ReadonlyMap<string, unknown>,
  replace: ReplaceOutput,
): Promise<ModelMessage> {
  const content: ToolContent = [];
  for (const part of message.content) {
    const value = part.type === 'tool-result' ? shownIn(part) : undefined;
    if (part.type !== 'tool-result' || value === undefined) {
      content.push(part);
      continue;
    }
    const shown = await replace({ tool: part.toolName, input: inputs.get(part.toolCallId), value });
    const isOk = !part.output.type.startsWith('error');
    content.push(shown === undefined ? part : { ...part, output: outputPart(isOk, shown) });
  }
  const isSame = content.every((part, index) => part === message.content[index]);
  return isSame ? message : { ...message, content };
}

/** The outputs in these messages. */
export const outputValues = (messages: readonly ModelMessage[]): JsonValue[] =>
  messages.flatMap((message) => {
    if (message.role !== 'tool') return [];
    return message.content.flatMap((part) => (part.type === 'tool-result' ? (shownIn(part) ?? []) : []));
  });

function shownIn({ output }: ToolResultPart): JsonValue | undefined {
  return 'value' in output ? z.json().safeParse(output.value).data : undefined;
}

const Target = z.object({ path: z.string() });

/** The file whose content a `read_file` shows. */
export function readPath({ tool, input }: Output): string | undefined {
  return tool === 'read_file' ? Target.safeParse(input).data?.path : undefined;
}

/** The whole output as a text for a file. */
export function wholeText(value: JsonValue): string {
  if (isJsonObject(value) && 'exit_code' in value) return outputText(value);
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 1);
}

/** Replaces the long texts, lists and objects in an output; short fields, such as an exit code, stay. */
export function withShortFields(value: JsonValue, maxChars: number, stub: string): JsonValue {
  if (!isJsonObject(value)) return stub;
  let isNamed = false;
  const entries = Object.entries(value).map(([name, field]): [string, JsonValue] => {
    if (charsOf(field) <= maxChars) return [name, field];
    const shown = isNamed ? '[pruned]' : stub;
    isNamed = true;
    return [name, shown];
  });
  const short = Object.fromEntries(entries);
  return isNamed && charsOf(short) <= 2 * maxChars + stub.length ? short : stub;
}

export const charsOf = (value: JsonValue): number =>
  typeof value === 'string' ? value.length : JSON.stringify(value).length;
