import type { Clock } from '@hermes-fleet/protocol/ports';
import { type FinishReason, type ModelMessage, streamText, ToolChoiceViolationError, type ToolSet } from 'ai';
import { type AgentModel, DEFAULT_PATIENCE } from './agent-model.ts';
import { UnfinishedAnswerError } from './call-failure.ts';
import type { ReceivedAnswer } from './call-usage.ts';
import { createOutputCap } from './output-cap.ts';
import { watchSilence } from './silence.ts';

export interface AnswerRequest {
  readonly model: AgentModel;
  readonly instructions: string;
  readonly messages: ModelMessage[];
  /** Without `execute`: the loop carries out the calls. */
  readonly tools: ToolSet;
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
  const cap = createOutputCap(maxOutputTokens);
  const cut = new AbortController();
  let text = '';
  const begun: BegunCall[] = [];
  // The model called a tool although the tools are off: its text counts, the call does not.
  let isViolation = false;
  let finish: { reason: FinishReason; raw: string | undefined } | undefined;
  try {
    const result = streamText({
      model: model.model,
      instructions: request.instructions,
      messages: request.messages,
      tools: request.tools,
      ...(request.toolsOff ? { toolChoice: 'none' as const } : {}),
      maxOutputTokens,
      ...model.settings,
      abortSignal: AbortSignal.any([signal, cut.signal, silence.signal]),
      maxRetries: 0,
      onError: () => {},
    });
    for await (const part of result.stream) {
      if (part.type === 'error') {
        isViolation = request.toolsOff && ToolChoiceViolationError.isInstance(part.error);
        if (!isViolation) throw part.error;
      }
      if (part.type !== 'start' && part.type !== 'start-step') silence.heard();
      const delta = deltaOf(part);
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
        received.usage = part.usage;
        finish = { reason: isViolation ? 'stop' : part.finishReason, raw: part.rawFinishReason };
      }
    }
    signal.throwIfAborted();
    silence.signal.throwIfAborted();
    // A package says `interrupted` for an answer without an end, or `other` without the provider's word.
    if (
      finish === undefined ||
      finish.reason === 'interrupted' ||
      (finish.reason === 'other' && finish.raw === undefined)
    )
      throw new UnfinishedAnswerError('the answer ended without a finish reason');
    const messages = isViolation ? textMessage(text) : await result.responseMessages;
    return { messages, finishReason: finish.reason };
  } catch (error) {
    signal.throwIfAborted();
    received.isAbandoned = silence.signal.aborted;
    silence.signal.throwIfAborted();
    throw error;
  }
}

const textMessage = (text: string): ModelMessage[] =>
  text === '' ? [] : [{ role: 'assistant', content: text }];

interface BegunCall {
  readonly id: string;
  readonly name: string;
}

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
