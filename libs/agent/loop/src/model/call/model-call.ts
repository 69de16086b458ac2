import { RedirectError } from '@hermes-fleet/net';
import { FleetError } from '@hermes-fleet/protocol';
import { type Budget, type Clock, type Reservation, systemClock } from '@hermes-fleet/protocol/ports';
import { APICallError, type FinishReason, type ModelMessage } from 'ai';
import { contextOverflow } from '../../messages/context-overflow.ts';
import { type AgentModel, DEFAULT_PATIENCE } from './agent-model.ts';
import { type CallFailure, callFailure } from './call-failure.ts';
import { callUsage, isFarFromEstimate, meteredInputTokens, type ReceivedAnswer } from './call-usage.ts';
import { createRetries, type ModelRetry } from './retries.ts';
import { type AnswerRequest, streamAnswer } from './stream-answer.ts';

/** An answer limited to fewer tokens than this is not worth its input. */
export const MIN_OUTPUT_TOKENS = 16;
const NO_USAGE = { inputTokens: 0, outputTokens: 0, source: 'estimated' } as const;

export interface ModelCallRequest extends AnswerRequest {
  readonly budget: Budget;
  /** Tokens of the budget that this call must leave. */
  readonly keepTokens: number;
  readonly inputTokens: number;
  readonly maxOutputTokens: number;
  /** What the context window leaves for the answer, in tokens; default: the window less `inputTokens`. */
  readonly outputRoom?: number;
  /** What the input takes of a window, in tokens; default: `inputTokens`. */
  readonly windowTokens?: number;
  /** Resolves when everything that must precede the call is durable. The call rethrows its error. */
  readonly ready: () => Promise<void>;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Ends the wait between two attempts; the call throws its reason. A running attempt continues. */
  readonly stopping?: AbortSignal;
  /** The task's deadline, in ms since the epoch: an attempt that could begin only later is not waited for. */
  readonly deadlineAt?: number | undefined;
  /** Called before the wait for another attempt. The call rethrows its error. */
  readonly onRetry?: (retry: ModelRetry) => Promise<void>;
  readonly onUsage?: (usage: Parameters<Reservation['settle']>[0]) => void;
  /** Called for an input that the provider meters far from our estimate, which is booked nevertheless. */
  readonly onFarUsage?: (usage: Parameters<Reservation['settle']>[0], estimate: number) => void;
  /** Called before another model is tried. What it starts to write is for `ready` to wait for. */
  readonly onFallback?: (from: AgentModel, to: AgentModel) => void;
}

export interface ModelCallResult {
  readonly messages: ModelMessage[];
  readonly finishReason: FinishReason;
  readonly maxOutputTokens: number;
  /** The provider's figure for the input, if plausible. */
  readonly meteredInputTokens: number | undefined;
  readonly usage: Parameters<Reservation['settle']>[0];
  /** Resolves when the call's settlement is durable. */
  readonly settled: Promise<void>;
}

/**
 * Calls the model, again where a failure may pass, then its fallbacks (docs/agent.md#calls-that-fail). Each attempt is
 * reserved in the budget, limited to what is left, and settled with the provider's usage or an estimate
 * (docs/handshake.md#tokens); one that exceeds the limit is cut, and finishes with `length`. On return its settlement is
 * being written. Throws BUDGET_EXHAUSTED, MODEL_FAILED (also for a refusal as too long, which is the first model's), the
 * reason of `signal` or `stopping`, or the error of `ready`, after which nothing is charged.
 */
export async function callModel(request: ModelCallRequest): Promise<ModelCallResult> {
  const { model: first, clock = systemClock } = request;
  const isFirst = ({ model }: AgentModel): boolean => model === first.model;
  const models = (first.fallbacks?.inOrder(clock) ?? [first]).filter(
    (model) => isFirst(model) || hasRoom(request, model),
  );
  let failed: unknown;
  for (const [index, model] of models.entries()) {
    const isLast = index === models.length - 1;
    try {
      if (isFirst(model)) return await callOne({ ...request, model }, isLast);
      return await callFallback(request, model, isLast);
    } catch (error) {
      const isTooLong = contextOverflow(error) !== undefined;
      const goesOn = isFirst(model) ? !isTooLong && isAway(error) : isTooLong || isAway(error);
      if (!goesOn) throw error;
      if (!isTooLong) {
        failed ??= error;
        first.fallbacks?.failed(model, clock);
      }
      const next = models[index + 1];
      if (next !== undefined) request.onFallback?.(model, next);
      // Without a fallback that is large enough, the first model has its whole patience.
      else if (isTooLong && isRetryable(failed))
        return callOne({ ...request, model: models.find(isFirst) ?? first }, true);
    }
  }
  throw failed;
}

/** Calls a fallback with the room that its own window leaves. What it meters says nothing about the first model. */
async function callFallback(
  request: ModelCallRequest,
  model: AgentModel,
  isLast: boolean,
): Promise<ModelCallResult> {
  const outputRoom = roomAt(request, model);
  return { ...(await callOne({ ...request, model, outputRoom }, isLast)), meteredInputTokens: undefined };
}

const roomAt = (request: ModelCallRequest, { info }: AgentModel): number =>
  info.contextWindow - (request.windowTokens ?? request.inputTokens);

/** The share of a fallback's window that the answer needs, if an answer may be so long. */
const ANSWER_SHARE = 1 / 8;

function hasRoom(request: ModelCallRequest, model: AgentModel): boolean {
  const answer = Math.max(MIN_OUTPUT_TOKENS, Math.floor(model.info.contextWindow * ANSWER_SHARE));
  return roomAt(request, model) >= Math.min(request.maxOutputTokens, answer);
}

/** Statuses of an account or a model that another provider does not share; others are about the request. */
const OF_PROVIDER: ReadonlySet<number | undefined> = new Set([401, 402, 403, 404, 408, 410, 425, 429]);

/** True when another model may answer: a redirect is the provider's too. */
function isAway(error: unknown): boolean {
  if (!(error instanceof FleetError) || error.code !== 'MODEL_FAILED' || error.cause === undefined)
    return false;
  const status = APICallError.isInstance(error.cause) ? error.cause.statusCode : undefined;
  const isRedirect = error.cause instanceof Error && error.cause.name === RedirectError.name;
  return error.retryable || isRedirect || OF_PROVIDER.has(status);
}

const isRetryable = (error: unknown): boolean => error instanceof FleetError && error.retryable;

async function callOne(request: ModelCallRequest, isLast: boolean): Promise<ModelCallResult> {
  const { signal, stopping, clock = systemClock, deadlineAt } = request;
  const own = request.model.patience ?? DEFAULT_PATIENCE;
  const patience = isLast ? own : { ...own, patienceMs: Math.min(own.patienceMs, own.newTaskPatienceMs) };
  const isNewTask = (): boolean => request.budget.spent() === 0;
  const retries = createRetries({ patience, deadlineAt, clock, random: Math.random, isNewTask });
  const startedAt = clock.monotonic();
  for (;;) {
    const { result, failure, isTextVoid, settled } = await attempt(request, clock);
    if (result !== undefined) return result;
    const next = retries.next(failure);
    // Begun in the turn of the settlement, so that both share a commit.
    await Promise.all([settled, next && request.onRetry?.({ ...next, isTextVoid })]);
    if (next === undefined) throw givenUp(failure, retries.attempts, clock.monotonic() - startedAt);
    await clock.sleep(next.waitMs, stopping ? AbortSignal.any([signal, stopping]) : signal);
  }
}

/** `settled` resolves when the attempt's settlement is durable. */
type Attempt = { readonly isTextVoid: boolean; readonly settled: Promise<void> } & (
  | { readonly result: ModelCallResult; readonly failure?: undefined }
  | { readonly result?: undefined; readonly failure: CallFailure }
);

async function attempt(request: ModelCallRequest, clock: Clock): Promise<Attempt> {
  const maxOutputTokens = outputLimit(request);
  const reservation = await request.budget.reserve({ inputTokens: request.inputTokens, maxOutputTokens });
  const received: ReceivedAnswer = { text: '', usage: undefined };
  const usage = async () => {
    const used = {
      ...(await callUsage(request, received, maxOutputTokens)),
      model: request.model.info.id,
    };
    if (isFarFromEstimate(request, received)) request.onFarUsage?.(used, request.inputTokens);
    request.onUsage?.(used);
    return used;
  };
  try {
    await request.ready();
    request.signal.throwIfAborted();
  } catch (error) {
    await reservation.settle(NO_USAGE);
    throw error;
  }
  let isTextVoid = false;
  const onText = (delta: string): void => {
    isTextVoid = true;
    request.onText(delta);
  };
  let answer: Pick<ModelCallResult, 'messages' | 'finishReason'>;
  try {
    answer = await streamAnswer({ ...request, onText }, maxOutputTokens, received, clock);
  } catch (error) {
    const settled = reservation.settle(await usage());
    settled.catch(() => {});
    if (request.signal.aborted) await settled;
    request.signal.throwIfAborted();
    const { secrets = [] } = request.model;
    const failure = callFailure(error, { hasBegun: received.text !== '', now: clock.now(), secrets });
    if (failure.kind === 'broken' || failure.kind === 'silent')
      request.model.calls?.ended({ kind: 'broken' });
    return { failure, isTextVoid, settled };
  }
  const metered = meteredInputTokens(request, received);
  const used = await usage();
  const settled = reservation.settle(used);
  settled.catch(() => {});
  return {
    result: { ...answer, maxOutputTokens, meteredInputTokens: metered, usage: used, settled },
    isTextVoid: false,
    settled,
  };
}

function givenUp({ error }: CallFailure, attempts: number, ms: number): FleetError {
  if (attempts === 1) return error;
  const { code, message, retryable, cause } = error;
  const tried = `${message} (the last of ${attempts} attempts in ${Math.round(ms / 1000)} s)`;
  return new FleetError(code, tried, { retryable, cause });
}

/** The maximum length of the answer. Throws when the context window or the budget leaves too little. */
function outputLimit(request: ModelCallRequest): number {
  const { budget, inputTokens, model, keepTokens } = request;
  const sent = request.windowTokens ?? inputTokens;
  const room = request.outputRoom ?? model.info.contextWindow - sent;
  if (room < MIN_OUTPUT_TOKENS) {
    throw new FleetError(
      'MODEL_FAILED',
      `the conversation fills the model's context window of ${room + sent} tokens`,
      { retryable: false },
    );
  }
  const left = budget.remaining() - keepTokens;
  const limit = Math.floor(Math.min(request.maxOutputTokens, room, left - inputTokens));
  if (limit >= MIN_OUTPUT_TOKENS) return limit;
  throw new FleetError(
    'BUDGET_EXHAUSTED',
    `a model call with ${inputTokens} input tokens does not fit into the ${Math.max(0, left)} tokens left of ${budget.limit}`,
  );
}
