import { z } from 'zod';
import type { HookAnswer } from './sdk-types.ts';

/** A tool call of the model. */
export interface ToolUse {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

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
  | { readonly kind: 'ended'; readonly end: TurnEnd };

/** How a turn of the model ended. */
export type TurnEnd =
  /** It says that it is done, and waits for a follow-up prompt. */
  | { readonly kind: 'done'; readonly text: string }
  | { readonly kind: 'step_limit' }
  /** A hook ended it. */
  | { readonly kind: 'halted' }
  /** The session to resume does not exist. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'failed'; readonly detail: string; readonly cause?: unknown };

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
  return result.success ? { kind: 'ended', end: endOf(result.data) } : undefined;
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

function endOf({ subtype, is_error: isError, result = '', errors = [] }: z.output<typeof Result>): TurnEnd {
  if (subtype === 'error_max_turns') return { kind: 'step_limit' };
  if (errors.some((line) => line.startsWith('No conversation found'))) return { kind: 'lost' };
  if (!isError) return { kind: 'halted' };
  return { kind: 'failed', detail: [result, ...errors].filter((line) => line !== '').join('; ') };
}

const HookInput = z.looseObject({
  tool_name: z.string(),
  tool_input: z.unknown().optional(),
  tool_use_id: z.string(),
  tool_response: z.unknown().optional(),
  error: z.string().optional(),
});

/** The input of the PreToolUse, PostToolUse and PostToolUseFailure hooks. */
export type ToolHookInput = ReturnType<typeof readToolHook>;

export function readToolHook(raw: unknown) {
  const { tool_name: name, tool_use_id: id, tool_input: input, tool_response, error } = HookInput.parse(raw);
  const call: ToolUse = { id, name, input };
  return { call, response: tool_response, error: error ?? '' };
}

const StopInput = z.looseObject({ last_assistant_message: z.string().optional() });

/** Returns the model's last message. */
export const readStopHook = (raw: unknown): string => StopInput.parse(raw).last_assistant_message ?? '';

/** Refuses a call. */
export const denyCall = (reason: string): HookAnswer => ({
  hookSpecificOutput: {
    hookEventName: 'PreToolUse',
    permissionDecision: 'deny',
    permissionDecisionReason: reason,
  },
});

/** Adds notes to a call's result, and replaces its output if `updatedToolOutput` is given. */
export function annotateCall(
  hookEventName: 'PostToolUse' | 'PostToolUseFailure',
  notes: readonly string[],
  updatedToolOutput?: unknown,
): HookAnswer {
  const additionalContext = notes.length > 0 ? { additionalContext: notes.join('\n') } : {};
  const updated = updatedToolOutput === undefined ? {} : { updatedToolOutput };
  return { hookSpecificOutput: { hookEventName, ...additionalContext, ...updated } };
}
