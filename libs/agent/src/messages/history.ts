import type { JsonValue, ToolResult } from '@hermes-fleet/protocol';
import { countTokens } from '@hermes-fleet/tokens';
import type { ModelMessage } from 'ai';
import { z } from 'zod';

/** A tool call that has no result yet. */
export interface PendingCall {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
  /** Its place among the calls of its message, from 0. */
  readonly index: number;
}

/**
 * The calls that the model made last and that nobody answered. A result answers one call of the message before it: some
 * providers give calls the ids of earlier ones.
 */
export function pendingCalls(messages: readonly ModelMessage[]): PendingCall[] {
  const at = messages.findLastIndex(({ role }) => role === 'assistant');
  const last = messages[at];
  if (last?.role !== 'assistant' || typeof last.content === 'string') return [];
  const answered = messages.slice(at + 1).flatMap(answeredIds);
  return last.content.flatMap((part, index) => {
    if (part.type !== 'tool-call' || part.providerExecuted) return [];
    const at = answered.indexOf(part.toolCallId);
    if (at === -1) return [{ id: part.toolCallId, tool: part.toolName, input: part.input, index }];
    answered.splice(at, 1);
    return [];
  });
}

const answeredIds = (message: ModelMessage): string[] =>
  message.role === 'tool'
    ? message.content.flatMap((part) => (part.type === 'tool-result' ? [part.toolCallId] : []))
    : [];

/** The result of a call behind one that a crash cut off. */
export const NOT_RUN = 'not run: the gateway was restarted before it';

/** The message that tells the model what came of a call. */
export function toolMessage(call: PendingCall, result: ToolResult): ModelMessage {
  return {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: call.id,
        toolName: call.tool,
        output: outputPart(result.ok, result.output),
      },
    ],
  };
}

function outputPart(ok: boolean, value: JsonValue) {
  if (typeof value === 'string') return { type: ok ? ('text' as const) : ('error-text' as const), value };
  return { type: ok ? ('json' as const) : ('error-json' as const), value };
}

/** What the model called with: of the last call that has this id. */
export function inputOf(messages: readonly ModelMessage[], id: string): unknown {
  const parts = messages.flatMap(({ role, content }) =>
    role === 'assistant' && typeof content !== 'string' ? content : [],
  );
  const call = parts.findLast((part) => part.type === 'tool-call' && part.toolCallId === id);
  return call?.type === 'tool-call' ? call.input : undefined;
}

/** The text of the model's last answer to what it was asked last; empty when it has given none. */
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

/** The model's text alone, for an answer that was to come without tool calls. */
export function withoutCalls(messages: readonly ModelMessage[]): ModelMessage[] {
  const text = messages.map(textOf).join('');
  return text === '' ? [] : [{ role: 'assistant', content: text }];
}

/** Without messages that say nothing, which some providers refuse to be shown. */
export const withoutEmpty = (messages: readonly ModelMessage[]): ModelMessage[] =>
  messages.filter(({ role, content }) => role !== 'assistant' || content.length > 0);

const ABRIDGED_CHARS = 400;

/** The conversation with long inputs and outputs of tools cut short, for a question about the whole of it. */
export function abridged(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message): ModelMessage => {
    if (message.role === 'tool') {
      const content = message.content.map((part) => {
        if (part.type !== 'tool-result' || !('value' in part.output)) return part;
        const { type, value } = part.output;
        const kind = type.startsWith('error') ? ('error-text' as const) : ('text' as const);
        const text = typeof value === 'string' ? value : JSON.stringify(value);
        return { ...part, output: { type: kind, value: short(text) } };
      });
      return { ...message, content };
    }
    if (message.role !== 'assistant' || typeof message.content === 'string') return message;
    const content = message.content.map((part) =>
      part.type === 'tool-call' ? { ...part, input: shortInput(part.input) } : part,
    );
    return { ...message, content };
  });
}

const short = (text: string): string =>
  text.length > ABRIDGED_CHARS ? `${text.slice(0, ABRIDGED_CHARS)}… [cut to save tokens]` : text;

function shortInput(input: unknown): unknown {
  const fields = z.record(z.string(), z.unknown()).safeParse(input);
  if (!fields.success) return input;
  return Object.fromEntries(
    Object.entries(fields.data).map(([key, value]) => [
      key,
      typeof value === 'string' ? short(value) : value,
    ]),
  );
}

/** What providers add around a conversation and around each message: roles, marks, the frame of the tools. In tokens. */
const FRAME_TOKENS = 64;
const MESSAGE_TOKENS = 8;

/** Estimates the tokens of a conversation, on the safe side; each message is counted once. */
export function createEstimator(): (fixed: string, messages: readonly ModelMessage[]) => Promise<number> {
  const known = new Map<string | ModelMessage, number>();
  const count = async (part: string | ModelMessage): Promise<number> => {
    const tokens = await countTokens(typeof part === 'string' ? part : JSON.stringify(part));
    known.set(part, tokens);
    return tokens;
  };
  return async (fixed, messages) => {
    let sum = FRAME_TOKENS + (known.get(fixed) ?? (await count(fixed)));
    for (const message of messages) sum += MESSAGE_TOKENS + (known.get(message) ?? (await count(message)));
    return sum;
  };
}
