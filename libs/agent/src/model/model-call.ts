import { type Budget, FleetError } from '@hermes-fleet/protocol';
import {
  APICallError,
  type FinishReason,
  type ModelMessage,
  streamText,
  ToolChoiceViolationError,
  type ToolSet,
} from 'ai';
import { callUsage, meteredInputTokens, type ReceivedAnswer } from './call-usage.ts';
import type { AgentModel } from './create-model.ts';
import { createOutputCap } from './output-cap.ts';
import { providerFailure } from './provider-failure.ts';

/** An answer limited to fewer tokens than this is not worth its input. */
export const MIN_OUTPUT_TOKENS = 16;
const MAX_RETRIES = 2;
const NO_USAGE = { inputTokens: 0, outputTokens: 0, source: 'estimated' } as const;

export interface ModelCallRequest {
  readonly model: AgentModel;
  readonly budget: Budget;
  /** Tokens of the budget that this call must leave. */
  readonly keepTokens: number;
  readonly instructions: string;
  readonly messages: ModelMessage[];
  /** Without `execute`: the loop carries out the calls. */
  readonly tools: ToolSet;
  /** The tools are sent, because the conversation contains calls of them, but must not be called. */
  readonly toolsOff: boolean;
  readonly inputTokens: number;
  readonly maxOutputTokens: number;
  readonly signal: AbortSignal;
  readonly onText: (delta: string) => void;
  /** Resolves when everything that must precede the call is durable. The call rethrows its error. */
  readonly ready: () => Promise<void>;
}

export interface ModelCallResult {
  readonly messages: ModelMessage[];
  readonly finishReason: FinishReason;
  /** The provider's figure for the input, if plausible. */
  readonly meteredInputTokens: number | undefined;
  /** Resolves when the call's settlement is durable. */
  readonly settled: Promise<void>;
}

/**
 * Calls the model once. The call is reserved in the budget beforehand, its output is limited to what is left, and it is
 * settled with the provider's usage, or with an estimate if it was interrupted (docs/handshake.md#tokens). An answer that
 * exceeds the limit is cut and finishes with `length`. On return the budget includes the call, and its settlement is
 * being written. Throws BUDGET_EXHAUSTED, MODEL_FAILED, the signal's reason, or the error of `ready`; after the last, no
 * call was made and nothing is charged.
 */
export async function callModel(request: ModelCallRequest): Promise<ModelCallResult> {
  const maxOutputTokens = outputLimit(request);
  const reservation = await request.budget.reserve({ inputTokens: request.inputTokens, maxOutputTokens });
  const received: ReceivedAnswer = { text: '', usage: undefined };
  const usage = () => callUsage(request, received, maxOutputTokens);
  try {
    await request.ready();
    request.signal.throwIfAborted();
  } catch (error) {
    await reservation.settle(NO_USAGE);
    throw error;
  }
  let answer: Omit<ModelCallResult, 'settled'>;
  try {
    answer = await streamAnswer(request, maxOutputTokens, received);
  } catch (error) {
    await reservation.settle(await usage());
    throw error;
  }
  const settled = reservation.settle(await usage());
  settled.catch(() => {});
  return { ...answer, settled };
}

/** Collects the answer in `received`, which stays valid when the stream breaks off. */
async function streamAnswer(
  request: ModelCallRequest,
  maxOutputTokens: number,
  received: ReceivedAnswer,
): Promise<Omit<ModelCallResult, 'settled'>> {
  const { signal } = request;
  using _call = request.model.calls?.begin();
  const cap = createOutputCap(maxOutputTokens);
  const cut = new AbortController();
  let text = '';
  // The model called a tool although the tools are off: its text counts, the call does not.
  let isViolation = false;
  let finishReason: FinishReason = 'other';
  try {
    const result = streamText({
      model: request.model.model,
      instructions: request.instructions,
      messages: request.messages,
      tools: request.tools,
      ...(request.toolsOff ? { toolChoice: 'none' as const } : {}),
      maxOutputTokens,
      abortSignal: AbortSignal.any([signal, cut.signal]),
      maxRetries: MAX_RETRIES,
      onError: () => {},
    });
    for await (const part of result.stream) {
      if (part.type === 'error') {
        isViolation = request.toolsOff && ToolChoiceViolationError.isInstance(part.error);
        if (!isViolation) throw part.error;
      }
      const delta = deltaOf(part);
      received.text += delta;
      if (delta !== '' && (await cap.add(delta))) {
        cut.abort();
        signal.throwIfAborted();
        return { messages: textMessage(text), finishReason: 'length', meteredInputTokens: undefined };
      }
      if (part.type === 'text-delta') {
        text += part.text;
        request.onText(part.text);
      }
      if (part.type === 'finish-step') {
        received.usage = part.usage;
        finishReason = isViolation ? 'stop' : part.finishReason;
      }
    }
    signal.throwIfAborted();
    const messages = isViolation ? textMessage(text) : await result.responseMessages;
    return {
      messages,
      finishReason,
      meteredInputTokens: meteredInputTokens(request, received, maxOutputTokens),
    };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof FleetError || APICallError.isInstance(lastError(error))))
      request.model.calls?.ended({ kind: 'broken' });
    throw modelFailure(error);
  }
}

const textMessage = (text: string): ModelMessage[] =>
  text === '' ? [] : [{ role: 'assistant', content: text }];

/** The maximum length of the answer. Throws when the context window or the budget leaves too little. */
function outputLimit(request: ModelCallRequest): number {
  const { budget, inputTokens, model, keepTokens } = request;
  const window = model.info.contextWindow - inputTokens;
  if (window < MIN_OUTPUT_TOKENS) {
    throw new FleetError(
      'MODEL_FAILED',
      `the conversation fills the model's context window of ${model.info.contextWindow} tokens`,
      { retryable: false },
    );
  }
  const left = budget.remaining() - keepTokens;
  const limit = Math.floor(Math.min(request.maxOutputTokens, window, left - inputTokens));
  if (limit >= MIN_OUTPUT_TOKENS) return limit;
  throw new FleetError(
    'BUDGET_EXHAUSTED',
    `a model call with ${inputTokens} input tokens does not fit into the ${Math.max(0, left)} tokens left of ${budget.limit}`,
  );
}

type Part = { readonly type: string; readonly text?: unknown; readonly delta?: unknown };

function deltaOf(part: Part): string {
  if (part.type === 'tool-input-delta') return typeof part.delta === 'string' ? part.delta : '';
  const isText = part.type === 'text-delta' || part.type === 'reasoning-delta';
  return isText && typeof part.text === 'string' ? part.text : '';
}

/** Hides the provider's own error text: it may hold secrets. */
function modelFailure(error: unknown): FleetError {
  if (error instanceof FleetError) return error;
  const last = lastError(error);
  if (!APICallError.isInstance(last)) {
    return new FleetError('MODEL_FAILED', 'the model could not be called; the log has the reason', {
      cause: error,
    });
  }
  return providerFailure(last.statusCode, { cause: error, retryable: last.isRetryable });
}

/** Unwraps the SDK's RetryError. */
const lastError = (error: unknown): unknown =>
  error instanceof Error && 'lastError' in error ? error.lastError : error;
