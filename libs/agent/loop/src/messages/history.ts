import type { JsonValue } from '@hermes-fleet/protocol';
import type { ToolResult } from '@hermes-fleet/protocol/ports';
import { countTokens } from '@hermes-fleet/protocol/tokens';
import type { ModelMessage, ToolCallPart } from 'ai';
import { z } from 'zod';

/** A tool call without a result. */
export interface PendingCall {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
  /** Index among the parts of its message, from 0. */
  readonly index: number;
  /** Index among the calls of its message, from 0. */
  readonly place: number;
}

/** The unanswered calls of the last message. A result answers the message before it: some providers reuse ids. */
export function pendingCalls(messages: readonly ModelMessage[]): PendingCall[] {
  const at = messages.findLastIndex(({ role }) => role === 'assistant');
  const last = messages[at];
  if (last?.role !== 'assistant' || typeof last.content === 'string') return [];
  const answered = messages.slice(at + 1).flatMap(answeredIds);
  let calls = 0;
  return last.content.flatMap((part, index) => {
    if (part.type !== 'tool-call' || part.providerExecuted) return [];
    const place = calls++;
    const at = answered.indexOf(part.toolCallId);
    if (at === -1) return [{ id: part.toolCallId, tool: part.toolName, input: part.input, index, place }];
    answered.splice(at, 1);
    return [];
  });
}

const answeredIds = (message: ModelMessage): string[] =>
  message.role === 'tool'
    ? message.content.flatMap((part) => (part.type === 'tool-result' ? [part.toolCallId] : []))
    : [];

/** The result of a call that a crash prevented. */
export const NOT_RUN = 'not run: the gateway was restarted before it';

/** The message that carries a call's result. */
export function toolMessage(call: Pick<PendingCall, 'id' | 'tool'>, result: ToolResult): ModelMessage {
  const output = outputPart(result.ok, result.output);
  return {
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: call.id, toolName: call.tool, output }],
  };
}

export function outputPart(ok: boolean, value: JsonValue) {
  if (typeof value === 'string') return { type: ok ? ('text' as const) : ('error-text' as const), value };
  return { type: ok ? ('json' as const) : ('error-json' as const), value };
}

/** The calls in these messages. */
export const callsIn = (messages: readonly ModelMessage[]): ToolCallPart[] =>
  messages.flatMap(({ role, content }) =>
    role === 'assistant' && typeof content !== 'string'
      ? content.filter((part) => part.type === 'tool-call')
      : [],
  );

/** The input of the last call with this id. */
export const inputOf = (messages: readonly ModelMessage[], id: string): unknown =>
  callsIn(messages).findLast(({ toolCallId }) => toolCallId === id)?.input;

/** The model's last answer to the last user message; empty when there is none. */
export function lastText(messages: readonly ModelMessage[]): string {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const last = messages.slice(asked + 1).findLast(({ role }) => role === 'assistant');
  return last === undefined ? '' : textOf(last);
}

function textOf(message: ModelMessage): string {
  if (message.role !== 'assistant') return '';
  if (typeof message.content === 'string') return message.content;
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The model's text alone, for an answer that must not call tools. */
export function withoutCalls(messages: readonly ModelMessage[]): ModelMessage[] {
  const text = messages.map(textOf).join('');
  return text === '' ? [] : [{ role: 'assistant', content: text }];
}

/** Removes empty messages, which some providers reject. */
export const withoutEmpty = (messages: readonly ModelMessage[]): ModelMessage[] =>
  messages.filter(({ role, content }) => role !== 'assistant' || content.length > 0);

const ABRIDGED_CHARS = 400;

/** Truncates long tool inputs and outputs, so that a prompt about the whole conversation fits. */
export function abridged(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message): ModelMessage => {
    if (message.role === 'tool') {
      const content = message.content.map((part) => {
        if (part.type !== 'tool-result' || !('value' in part.output)) return part;
        const { type, value } = part.output;
        const kind = type.startsWith('error') ? ('error-text' as const) : ('text' as const);
        const text = typeof value === 'string' ? value : JSON.stringify(value);
        return { ...part, output: { type: kind, value: truncated(text) } };
      });
      return { ...message, content };
    }
    return withShortInputs(message);
  });
}

/** Truncates the long texts in the inputs of a message's calls. A message without one is the same object. */
export function withShortInputs(message: ModelMessage): ModelMessage {
  if (message.role !== 'assistant' || typeof message.content === 'string') return message;
  const content = message.content.map((part) =>
    part.type === 'tool-call' && JSON.stringify(part.input).length > ABRIDGED_CHARS
      ? { ...part, input: truncatedInput(part.input) }
      : part,
  );
  const isSame = content.every((part, index) => part === message.content[index]);
  return isSame ? message : { ...message, content };
}

const truncated = (text: string): string =>
  text.length > ABRIDGED_CHARS ? `${text.slice(0, ABRIDGED_CHARS)}… [cut to save tokens]` : text;

function truncatedInput(input: unknown): unknown {
  const fields = z.record(z.string(), z.unknown()).safeParse(input);
  if (!fields.success) return input;
  return Object.fromEntries(
    Object.entries(fields.data).map(([key, value]) => [
      key,
      typeof value === 'string' ? truncated(value) : value,
    ]),
  );
}

/** Overhead of providers per conversation and per message: roles, separators, tool scaffolding. In tokens. */
const FRAME_TOKENS = 64;
export const MESSAGE_TOKENS = 8;

/** Overestimates the tokens of a conversation. Each message is counted once, and forgotten with the message. */
export function createEstimator(): (fixed: string, messages: readonly ModelMessage[]) => Promise<number> {
  const known = new WeakMap<ModelMessage, number>();
  let last: { readonly fixed: string; readonly tokens: number } | undefined;
  const count = async (message: ModelMessage): Promise<number> => {
    const tokens = await countTokens(JSON.stringify(message));
    known.set(message, tokens);
    return tokens;
  };
  return async (fixed, messages) => {
    if (last?.fixed !== fixed) last = { fixed, tokens: await countTokens(fixed) };
    let sum = FRAME_TOKENS + last.tokens;
    for (const message of messages) sum += MESSAGE_TOKENS + (known.get(message) ?? (await count(message)));
    return sum;
  };
}
