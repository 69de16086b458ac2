import { type Budget, FleetError } from '@hermes-fleet/protocol';
import {
  APICallError,
  type FinishReason,
  type ModelMessage,
  streamText,
  ToolChoiceViolationError,
  type ToolSet,
} from 'ai';
import type { AgentModel } from '../model/create-model.ts';
import { providerFailure } from '../model/provider-failure.ts';
import { createOutputCap } from './output-cap.ts';
import { callUsage, meteredInputTokens, type ReceivedAnswer } from './settlement.ts';

/** Below this much room for an answer a call is not worth its input. In tokens. */
export const MIN_OUTPUT_TOKENS = 16;
const MAX_RETRIES = 2;
/** What a call cost that was never made. */
const UNCALLED = { inputTokens: 0, outputTokens: 0, source: 'estimated' } as const;

export interface ModelCallRequest {
  readonly model: AgentModel;
  readonly budget: Budget;
  /** Tokens of the budget that this call must leave. */
  readonly keepTokens: number;
  readonly instructions: string;
  readonly messages: ModelMessage[];
  /** Without `execute`: the loop runs the calls itself. */
  readonly tools: ToolSet;
  /** The tools are shown, since the conversation has calls of them, but must not be called. */
  readonly toolsOff: boolean;
  readonly inputTokens: number;
  readonly maxOutputTokens: number;
  readonly signal: AbortSignal;
  readonly onText: (delta: string) => void;
  /** Resolves when all that the call must not precede is durable; what it throws, the step throws. */
  readonly ready: () => Promise<void>;
}

export interface ModelCallResult {
  readonly messages: ModelMessage[];
  readonly finishReason: FinishReason;
  /** The provider's figure for the input, where it gave one that can be true. */
  readonly meteredInputTokens: number | undefined;
  /** The settlement of the call, under way. */
  readonly settled: Promise<void>;
}

/**
 * One call of the model: reserved before, its output bounded by what is left, settled by what the provider metered, or
 * by an estimate when it broke off (design 2, Tokens). An answer that grows beyond what was ordered is cut, and ends
 * with `length`. When it resolves, the budget knows what the call cost, and that is being written. Throws BUDGET_EXHAUSTED,
 * MODEL_FAILED, the signal's reason, and what `ready` throws: then nothing was called, and nothing is charged.
 */
export async function callModel(request: ModelCallRequest): Promise<ModelCallResult> {
  const room = roomOf(request);
  const reservation = await request.budget.reserve({
    inputTokens: request.inputTokens,
    maxOutputTokens: room,
  });
  const seen: ReceivedAnswer = { text: '', usage: undefined };
  const bill = () => callUsage(request, seen, room);
  try {
    await request.ready();
    request.signal.throwIfAborted();
  } catch (error) {
    await reservation.settle(UNCALLED);
    throw error;
  }
  let answer: Omit<ModelCallResult, 'settled'>;
  try {
    answer = await ask(request, room, seen);
  } catch (error) {
    await reservation.settle(await bill());
    throw error;
  }
  const settled = reservation.settle(await bill());
  settled.catch(() => {});
  return { ...answer, settled };
}

/** The call itself; what arrives of it is `seen`, also when it breaks off. */
async function ask(
  request: ModelCallRequest,
  room: number,
  seen: ReceivedAnswer,
): Promise<Omit<ModelCallResult, 'settled'>> {
  const { signal } = request;
  const cap = createOutputCap(room);
  const cut = new AbortController();
  let shown = '';
  // The model called a tool all the same: what it said counts, the call does not.
  let violated = false;
  let finishReason: FinishReason = 'other';
  try {
    const result = streamText({
      model: request.model.model,
      instructions: request.instructions,
      messages: request.messages,
      tools: request.tools,
      ...(request.toolsOff ? { toolChoice: 'none' as const } : {}),
      maxOutputTokens: room,
      abortSignal: AbortSignal.any([signal, cut.signal]),
      maxRetries: MAX_RETRIES,
      onError: () => {},
    });
    for await (const part of result.stream) {
      if (part.type === 'error') {
        violated = request.toolsOff && ToolChoiceViolationError.isInstance(part.error);
        if (!violated) throw part.error;
      }
      const delta = deltaOf(part);
      seen.text += delta;
      if (delta !== '' && (await cap.add(delta))) {
        cut.abort();
        signal.throwIfAborted();
        return { messages: said(shown), finishReason: 'length', meteredInputTokens: undefined };
      }
      if (part.type === 'text-delta') {
        shown += part.text;
        request.onText(part.text);
      }
      if (part.type === 'finish-step') {
        seen.usage = part.usage;
        finishReason = violated ? 'stop' : part.finishReason;
      }
    }
    signal.throwIfAborted();
    const messages = violated ? said(shown) : await result.responseMessages;
    return { messages, finishReason, meteredInputTokens: meteredInputTokens(request, seen, room) };
  } catch (error) {
    signal.throwIfAborted();
    throw modelFailure(error);
  }
}

const said = (text: string): ModelMessage[] => (text === '' ? [] : [{ role: 'assistant', content: text }]);

/** How long the answer may be, or why the call cannot be made. */
function roomOf(request: ModelCallRequest): number {
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
  const room = Math.floor(Math.min(request.maxOutputTokens, window, left - inputTokens));
  if (room >= MIN_OUTPUT_TOKENS) return room;
  throw new FleetError(
    'BUDGET_EXHAUSTED',
    `a model call with ${inputTokens} input tokens does not fit into the ${Math.max(0, left)} tokens left of ${budget.limit}`,
  );
}

type Part = { readonly type: string; readonly text?: unknown; readonly delta?: unknown };

function deltaOf(part: Part): string {
  if (part.type === 'tool-input-delta') return typeof part.delta === 'string' ? part.delta : '';
  const says = part.type === 'text-delta' || part.type === 'reasoning-delta';
  return says && typeof part.text === 'string' ? part.text : '';
}

/** The provider's failure in our words: its own text may hold what callers must not see. */
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

/** The error behind the SDK's "failed after 3 attempts". */
const lastError = (error: unknown): unknown =>
  error instanceof Error && 'lastError' in error ? error.lastError : error;
