import { z } from 'zod';
import type { ToolUse } from './hooks.ts';

/** The result of a call, as the model sees it. */
export interface ToolUseResult {
  readonly id: string;
  readonly isError: boolean;
  readonly text: string;
}

/** The events that the session uses; all other messages of the SDK are ignored. */
export type SessionEvent =
  | { readonly kind: 'text'; readonly delta: string }
  /** A response of the model is complete. */
  | { readonly kind: 'step' }
  | { readonly kind: 'calls'; readonly calls: readonly ToolUse[] }
  | { readonly kind: 'results'; readonly results: readonly ToolUseResult[] }
  | {
      readonly kind: 'ended';
      readonly how: 'halted' | 'step_limit' | 'lost' | 'failed';
      readonly detail: string;
    };

const StreamEvent = z.looseObject({
  type: z.literal('stream_event'),
  parent_tool_use_id: z.string().nullish(),
  event: z.looseObject({
    type: z.string(),
    delta: z.looseObject({ type: z.string().optional(), text: z.string().optional() }).optional(),
  }),
});

const Blocks = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]);

const Message = z.looseObject({
  type: z.enum(['assistant', 'user']),
  parent_tool_use_id: z.string().nullish(),
  message: z.looseObject({ content: Blocks }),
});

const Result = z.looseObject({
  type: z.literal('result'),
  subtype: z.string(),
  is_error: z.boolean(),
  result: z.string().optional(),
  errors: z.array(z.string()).optional(),
});

const ToolUseBlock = z.looseObject({
  type: z.literal('tool_use'),
  id: z.string(),
  name: z.string(),
  input: z.unknown().optional(),
});
const ToolResultBlock = z.looseObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  is_error: z.boolean().nullish(),
  content: z.unknown().optional(),
});
const TextBlock = z.looseObject({ type: z.literal('text'), text: z.string() });

/** Reads a message of the SDK. Ignores messages of Claude Code's own sub-agents. */
export function readMessage(raw: unknown): SessionEvent | undefined {
  const streamed = StreamEvent.safeParse(raw);
  if (streamed.success) {
    const { parent_tool_use_id: parent, event } = streamed.data;
    if (parent) return undefined;
    if (event.type === 'message_stop') return { kind: 'step' };
    return event.delta?.type === 'text_delta' ? { kind: 'text', delta: event.delta.text ?? '' } : undefined;
  }
  const message = Message.safeParse(raw);
  if (message.success) return messageEvent(message.data);
  const result = Result.safeParse(raw);
  return result.success ? endEvent(result.data) : undefined;
}

function messageEvent({
  type,
  message,
  parent_tool_use_id: parent,
}: z.output<typeof Message>): SessionEvent | undefined {
  if (parent || typeof message.content === 'string') return undefined;
  if (type === 'assistant') {
    const calls = message.content.flatMap((block) => {
      const call = ToolUseBlock.safeParse(block);
      return call.success ? [{ id: call.data.id, name: call.data.name, input: call.data.input }] : [];
    });
    return { kind: 'calls', calls };
  }
  const results = message.content.flatMap((block) => {
    const result = ToolResultBlock.safeParse(block);
    if (!result.success) return [];
    const { tool_use_id: id, is_error: isError, content } = result.data;
    return [{ id, isError: isError === true, text: textOf(content) }];
  });
  return { kind: 'results', results };
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const blocks = z.array(z.unknown()).safeParse(content);
  const texts = blocks.success ? blocks.data.map((block) => TextBlock.safeParse(block)) : [];
  return texts.flatMap((text) => (text.success ? [text.data.text] : [])).join('\n');
}

function endEvent({
  subtype,
  is_error: isError,
  result = '',
  errors = [],
}: z.output<typeof Result>): SessionEvent {
  const detail = [result, ...errors].filter((line) => line !== '').join('; ');
  if (subtype === 'error_max_turns') return { kind: 'ended', how: 'step_limit', detail };
  if (errors.some((line) => line.startsWith('No conversation found')))
    return { kind: 'ended', how: 'lost', detail };
  return { kind: 'ended', how: isError ? 'failed' : 'halted', detail };
}
