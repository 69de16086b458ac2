import { type Budget, FleetError, type Reservation } from '@hermes-fleet/protocol';
import { countTokens } from '@hermes-fleet/tokens';
import {
  APICallError,
  type FinishReason,
  type LanguageModelUsage,
  type ModelMessage,
  streamText,
  type ToolSet,
} from 'ai';
import type { AgentModel } from '../model/create-model.ts';

/** Below this much room for an answer a call is not worth its input. In tokens. */
const MIN_OUTPUT = 16;
const MAX_RETRIES = 2;

export interface StepRequest {
  readonly model: AgentModel;
  readonly budget: Budget;
  readonly instructions: string;
  readonly messages: ModelMessage[];
  /** Without `execute`: the loop runs the calls itself. */
  readonly tools: ToolSet;
  readonly inputTokens: number;
  readonly maxOutputTokens: number;
  readonly signal: AbortSignal;
  readonly onText: (delta: string) => void;
}

export interface StepResult {
  readonly messages: ModelMessage[];
  readonly finishReason: FinishReason;
}

type Settlement = Parameters<Reservation['settle']>[0];

/**
 * One call of the model: reserved before, its output bounded by what is left, settled by what the provider metered, or
 * by an estimate when it broke off (design 2, Tokens). Throws BUDGET_EXHAUSTED, MODEL_FAILED and the signal's reason.
 */
export async function modelStep(request: StepRequest): Promise<StepResult> {
  const { budget, signal, inputTokens, model } = request;
  const window = model.info.contextWindow - inputTokens;
  if (window < MIN_OUTPUT) {
    throw new FleetError(
      'MODEL_FAILED',
      `the conversation fills the model's context window of ${model.info.contextWindow} tokens`,
      {
        retryable: false,
      },
    );
  }
  const room = Math.floor(Math.min(request.maxOutputTokens, window, budget.remaining() - inputTokens));
  if (room < MIN_OUTPUT) {
    throw new FleetError(
      'BUDGET_EXHAUSTED',
      `a model call with ${inputTokens} input tokens does not fit into the ${budget.remaining()} tokens left of ${budget.limit}`,
    );
  }
  const reservation = await budget.reserve({ inputTokens, maxOutputTokens: room });
  const seen = { text: '', started: false, usage: undefined as LanguageModelUsage | undefined };
  let finishReason: FinishReason = 'other';
  try {
    const result = streamText({
      model: model.model,
      instructions: request.instructions,
      messages: request.messages,
      tools: request.tools,
      maxOutputTokens: room,
      abortSignal: signal,
      maxRetries: MAX_RETRIES,
      onError: () => {},
    });
    for await (const part of result.stream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'text-delta' || part.type === 'reasoning-delta') seen.text += part.text;
      if (part.type === 'text-delta') request.onText(part.text);
      if (part.type === 'tool-input-delta') seen.text += part.delta;
      if (part.type === 'finish-step') {
        seen.usage = part.usage;
        finishReason = part.finishReason;
      }
      seen.started ||= seen.text !== '';
    }
    signal.throwIfAborted();
    return { messages: await result.responseMessages, finishReason };
  } catch (error) {
    signal.throwIfAborted();
    throw modelFailure(error);
  } finally {
    await reservation.settle(await settlement(request, seen));
  }
}

/** What the call cost: metered, else the input that was sent and the output that arrived. */
async function settlement(
  request: StepRequest,
  seen: { text: string; started: boolean; usage: LanguageModelUsage | undefined },
): Promise<Settlement> {
  const metered = meteredCounts(seen.usage);
  if (metered !== undefined) return { ...metered, source: request.model.usageSource };
  // A provider that refused the request has not read it.
  const reached = seen.started || seen.usage !== undefined || request.signal.aborted;
  return {
    inputTokens: reached ? request.inputTokens : 0,
    outputTokens: seen.text === '' ? 0 : await countTokens(seen.text),
    source: 'estimated',
  };
}

/** The provider's numbers, where it gives any that can be true: some report more cached tokens than there were. */
function meteredCounts(usage: LanguageModelUsage | undefined): Omit<Settlement, 'source'> | undefined {
  if (!usage?.inputTokens || usage.outputTokens === undefined) return undefined;
  const { cacheReadTokens = 0, cacheWriteTokens = 0, noCacheTokens } = usage.inputTokenDetails;
  const counts = {
    inputTokens: noCacheTokens ?? usage.inputTokens - cacheReadTokens - cacheWriteTokens,
    outputTokens: usage.outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
  };
  return Object.values(counts).every((count) => Number.isSafeInteger(count) && count >= 0)
    ? counts
    : undefined;
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
  const { statusCode, isRetryable } = last;
  const what = statusCode === undefined ? 'could not be reached' : `answered ${statusCode}`;
  const hint = statusCode === 401 || statusCode === 403 ? '; check its key in config.yaml' : '';
  return new FleetError('MODEL_FAILED', `the model's provider ${what}${hint}`, {
    cause: error,
    retryable: isRetryable,
  });
}

/** The error behind the SDK's "failed after 3 attempts". */
const lastError = (error: unknown): unknown =>
  error instanceof Error && 'lastError' in error ? error.lastError : error;
