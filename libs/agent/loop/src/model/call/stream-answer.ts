import type { Clock } from '@hermes-fleet/protocol/ports';
import {
  type FinishReason,
  InvalidToolInputError,
  type ModelMessage,
  streamText,
  ToolChoiceViolationError,
  type ToolSet,
  TypeValidationError,
} from 'ai';
import { z } from 'zod';
import { withoutLoneThinking } from '../../messages/lone-thinking.ts';
import { repairedInput } from '../../messages/repaired-input.ts';
import { type AgentModel, DEFAULT_PATIENCE } from './agent-model.ts';
import { UnfinishedAnswerError } from './call-failure.ts';
import { CallFigures, mergedFigures, type ReceivedAnswer, sdkFigures } from './call-usage.ts';
import { timeCall } from './measured-call.ts';
import { createOutputCap } from './output-cap.ts';
import { watchSilence } from './silence.ts';

export interface AnswerRequest {
  readonly model: AgentModel;
  readonly instructions: string;
  readonly messages: ModelMessage[];
  /** Those that this model is sent, asked for at each attempt. Without `execute`: the loop carries out the calls. */
  readonly tools: (model: AgentModel) => ToolSet;
  /** The tools are sent, because the conversation contains calls of them, but must not be called. */
  readonly toolsOff: boolean;
  readonly signal: AbortSignal;
  readonly onText: (delta: string) => void;
}

export interface Answer {
  readonly messages: ModelMessage[];
  readonly finishReason: FinishReason;
}

/**
 * One attempt to get an answer. Collects it in `received`, which stays valid when it breaks off. Throws the provider's
 * error, a SilenceError, an UnfinishedAnswerError, or the signal's reason.
 */
export async function streamAnswer(
  request: AnswerRequest,
  maxOutputTokens: number,
  received: ReceivedAnswer,
  clock: Clock,
): Promise<Answer> {
  const { signal, model } = request;
  using _call = model.calls?.begin();
  using silence = watchSilence(clock, model.patience ?? DEFAULT_PATIENCE);
  const timed = model.measurement && timeCall(model.measurement);
  const cap = createOutputCap(maxOutputTokens);
  const cut = new AbortController();
  let text = '';
  const begun: BegunCall[] = [];
  // The model called a tool although the tools are off: its text counts, the call does not.
  let isViolation = false;
  let finish: Finish | undefined;
  try {
    const result = streamText({
      model: model.model,
      instructions: request.instructions,
      messages: request.messages,
      tools: request.tools(model),
      ...(request.toolsOff ? { toolChoice: 'none' as const } : {}),
      maxOutputTokens,
      ...model.settings,
      abortSignal: AbortSignal.any([signal, cut.signal, silence.signal]),
      maxRetries: 0,
      includeRawChunks: true,
      repairToolCall: async ({ toolCall, error }) => {
        const input = InvalidToolInputError.isInstance(error) ? repairedInput(toolCall.input) : undefined;
        return input === undefined ? null : { ...toolCall, input: JSON.stringify(input) };
      },
      onError: () => {},
    });
    for await (const part of result.stream) {
      if (part.type === 'raw') {
        // Read at once, so that it is known however the answer ends.
        received.usage = mergedFigures(received.usage, Metered.safeParse(part.rawValue).data?.metered);
        continue;
      }
      if (part.type === 'error') {
        isViolation = request.toolsOff && ToolChoiceViolationError.isInstance(part.error);
        if (!isViolation && !isUnknownEvent(part.error)) throw part.error;
      }
      if (part.type !== 'start' && part.type !== 'start-step') silence.heard();
      const delta = deltaOf(part);
      if (delta !== '' || part.type === 'tool-input-start') timed?.heard();
      received.text += delta;
      if (delta !== '' && (await cap.add(delta))) {
        cut.abort();
        signal.throwIfAborted();
        return { messages: cutMessages(text, begun), finishReason: 'length' };
      }
      if (part.type === 'tool-input-start') begun.push({ id: part.id, name: part.toolName });
      if (part.type === 'text-delta') {
        text += part.text;
        request.onText(part.text);
      }
      if (part.type === 'finish-step') {
        received.usage ??= sdkFigures(part.usage);
        finish = { reason: isViolation ? 'stop' : part.finishReason, raw: part.rawFinishReason };
      }
    }
    signal.throwIfAborted();
    silence.signal.throwIfAborted();
    if (finish === undefined || lacksEnd(finish, received.text === ''))
      throw new UnfinishedAnswerError(`the answer ended with the reason "${finish?.raw ?? ''}"`);
    const messages = isViolation ? textMessage(text) : withoutLoneThinking(await result.responseMessages);
    return { messages, finishReason: finish.reason };
  } catch (error) {
    signal.throwIfAborted();
    received.isAbandoned = silence.signal.aborted;
    silence.signal.throwIfAborted();
    throw error;
  } finally {
    timed?.ended(finish !== undefined, AbortSignal.any([signal, cut.signal]));
    // Nothing more is read, whatever the provider still sends.
    cut.abort();
  }
}

type Finish = { readonly reason: FinishReason; readonly raw: string | undefined };

/** Reasons of an answer that lacks its end, in the words of DeepSeek, vLLM, SGLang and Gemini. */
const BROKEN =
  /^(?:insufficient_system_resource|abort(?:ed)?|timeout|unexpected_tool_call|too_many_tool_calls)$|malformed_function_call/i;
/** Reasons that some gateways give whole answers too. */
const FAILED = /^(?:error|network_error)$/i;

/** A package says `interrupted` for an answer without an end, or `other` without the provider's word. */
const lacksEnd = ({ reason, raw = '' }: Finish, isEmpty: boolean): boolean =>
  reason === 'interrupted' ||
  (reason === 'other' && raw === '') ||
  BROKEN.test(raw) ||
  (isEmpty && FAILED.test(raw));

/** A frame that `createFrames` has read the usage of. */
const Metered = z.object({ metered: CallFigures });

const textMessage = (text: string): ModelMessage[] =>
  text === '' ? [] : [{ role: 'assistant', content: text }];

const Event = z.object({
  type: z.string(),
  content_block: z.object({ type: z.string() }).optional(),
  delta: z.object({ type: z.string().optional() }).optional(),
});
/** Types of OpenAI's Responses API and of Anthropic's that are never left out. */
const KNOWN =
  /^(?:response\..*|error|message_(?:start|delta|stop)|content_block_stop|(?:text|thinking|signature|input_json)_delta|text|thinking|redacted_thinking|tool_use)$/;

/** True for an event, block or delta of a type that the provider's package does not know, such as a new one of Anthropic's. */
function isUnknownEvent(error: unknown): boolean {
  const event = TypeValidationError.isInstance(error) ? Event.safeParse(error.value).data : undefined;
  return event !== undefined && !KNOWN.test(event.content_block?.type ?? event.delta?.type ?? event.type);
}

type BegunCall = { readonly id: string; readonly name: string };

/** An answer that this side cut: its calls are refused, since the last one has no end (`messages/refused-calls.ts`). */
function cutMessages(text: string, begun: readonly BegunCall[]): ModelMessage[] {
  if (begun.length === 0) return textMessage(text);
  const calls = begun.map(({ id, name }) => ({ toolCallId: id, toolName: name }));
  const output = { type: 'error-text' as const, value: 'the call was cut' };
  return [
    {
      role: 'assistant',
      content: [
        ...(text === '' ? [] : [{ type: 'text' as const, text }]),
        ...calls.map((call) => ({ type: 'tool-call' as const, ...call, input: {} })),
      ],
    },
    { role: 'tool', content: calls.map((call) => ({ type: 'tool-result' as const, ...call, output })) },
  ];
}

type Part = { readonly type: string; readonly text?: unknown; readonly delta?: unknown };

function deltaOf(part: Part): string {
  if (part.type === 'tool-input-delta') return typeof part.delta === 'string' ? part.delta : '';
  const isText = part.type === 'text-delta' || part.type === 'reasoning-delta';
  return isText && typeof part.text === 'string' ? part.text : '';
}
