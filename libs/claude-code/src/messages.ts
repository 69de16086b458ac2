import { z } from 'zod';

/** A call that the model has made. */
export interface ModelCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** What the model was told of a call. */
export interface CallResult {
  readonly id: string;
  readonly isError: boolean;
  readonly text: string;
}

/** What a message of the SDK means to us; whatever else it tells is passed over. */
export type Seen =
  | { readonly kind: 'text'; readonly delta: string }
  /** An answer of the model is whole. */
  | { readonly kind: 'step' }
  | { readonly kind: 'calls'; readonly calls: readonly ModelCall[] }
  | { readonly kind: 'results'; readonly results: readonly CallResult[] }
  | {
      readonly kind: 'over';
      readonly how: 'halted' | 'step_limit' | 'lost' | 'failed';
      readonly detail: string;
    };

const Streamed = z.looseObject({
  type: z.literal('stream_event'),
  parent_tool_use_id: z.string().nullish(),
  event: z.looseObject({
    type: z.string(),
    delta: z.looseObject({ type: z.string().optional(), text: z.string().optional() }).optional(),
  }),
});

const Blocks = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]);

const Spoken = z.looseObject({
  type: z.enum(['assistant', 'user']),
  parent_tool_use_id: z.string().nullish(),
  message: z.looseObject({ content: Blocks }),
});

const Over = z.looseObject({
  type: z.literal('result'),
  subtype: z.string(),
  is_error: z.boolean(),
  result: z.string().optional(),
  errors: z.array(z.string()).optional(),
});

const ToolUse = z.looseObject({
  type: z.literal('tool_use'),
  id: z.string(),
  name: z.string(),
  input: z.unknown().optional(),
});
const ToolResult = z.looseObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  is_error: z.boolean().nullish(),
  content: z.unknown().optional(),
});
const Text = z.looseObject({ type: z.literal('text'), text: z.string() });

/** Reads what the SDK yields. What a sub-agent of Claude Code says is not the model's own answer. */
export function readMessage(raw: unknown): Seen | undefined {
  const streamed = Streamed.safeParse(raw);
  if (streamed.success) {
    const { parent_tool_use_id: parent, event } = streamed.data;
    if (parent) return undefined;
    if (event.type === 'message_stop') return { kind: 'step' };
    return event.delta?.type === 'text_delta' ? { kind: 'text', delta: event.delta.text ?? '' } : undefined;
  }
  const spoken = Spoken.safeParse(raw);
  if (spoken.success) return spokenOf(spoken.data);
  const over = Over.safeParse(raw);
  return over.success ? overOf(over.data) : undefined;
}

function spokenOf({ type, message, parent_tool_use_id: parent }: z.output<typeof Spoken>): Seen | undefined {
  if (parent || typeof message.content === 'string') return undefined;
  if (type === 'assistant') {
    const calls = message.content.flatMap((block) => {
      const call = ToolUse.safeParse(block);
      return call.success ? [{ id: call.data.id, name: call.data.name, input: call.data.input }] : [];
    });
    return { kind: 'calls', calls };
  }
  const results = message.content.flatMap((block) => {
    const result = ToolResult.safeParse(block);
    if (!result.success) return [];
    const { tool_use_id: id, is_error: isError, content } = result.data;
    return [{ id, isError: isError === true, text: textOf(content) }];
  });
  return { kind: 'results', results };
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const blocks = z.array(z.unknown()).safeParse(content);
  const texts = blocks.success ? blocks.data.map((block) => Text.safeParse(block)) : [];
  return texts.flatMap((text) => (text.success ? [text.data.text] : [])).join('\n');
}

function overOf({ subtype, is_error: isError, result = '', errors = [] }: z.output<typeof Over>): Seen {
  const detail = [result, ...errors].filter((line) => line !== '').join('; ');
  if (subtype === 'error_max_turns') return { kind: 'over', how: 'step_limit', detail };
  if (errors.some((line) => line.startsWith('No conversation found')))
    return { kind: 'over', how: 'lost', detail };
  return { kind: 'over', how: isError ? 'failed' : 'halted', detail };
}

const HookInput = z.looseObject({
  tool_name: z.string(),
  tool_input: z.unknown().optional(),
  tool_use_id: z.string(),
  tool_response: z.unknown().optional(),
  error: z.string().optional(),
});

/** What a hook of a tool's call is told. */
export interface ToolHookInput {
  readonly call: ModelCall;
  readonly response: unknown;
  readonly error: string;
}

export function readToolHook(raw: unknown): ToolHookInput {
  const { tool_name: name, tool_use_id: id, tool_input: input, tool_response, error } = HookInput.parse(raw);
  return { call: { id, name, input }, response: tool_response, error: error ?? '' };
}

const StopInput = z.looseObject({ last_assistant_message: z.string().optional() });

/** The model's last message, as the Stop hook is told of it. */
export const readStopHook = (raw: unknown): string => StopInput.parse(raw).last_assistant_message ?? '';
