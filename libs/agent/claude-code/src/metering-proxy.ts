import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  createOutputCap,
  inModelSpan,
  MIN_OUTPUT_TOKENS,
  type ModelSpanParts,
  meteredInputTokens,
  providerFailure,
  SilenceError,
  timeCall,
  unansweredEnd,
} from '@hermes-fleet/loop';
import { FleetError, isNestedDeeper } from '@hermes-fleet/protocol';
import type { Budget, Log, Reservation } from '@hermes-fleet/protocol/ports';
import { limitConnections } from '@hermes-fleet/service';
import { createInputEstimator, type InputEstimate, isConversation, MessagesBody } from './input-estimate.ts';
import { authorizedPath, LIMITS, readBody, relayRefusal, responseHeaders, sendError } from './proxy-http.ts';
import { callFigures, relayedUsage } from './proxy-usage.ts';
import { createResponseParser, type ReceivedResponse } from './response-parser.ts';
import { createUpstream, type UpstreamOptions } from './upstream.ts';

/** The task and the tracing are those of the calls' spans. */
export interface MeteringProxyOptions extends ModelSpanParts, UpstreamOptions {
  /** The provider's name of the only model that may be called. */
  readonly modelName: string;
  readonly budget: Budget;
  /** True when cached tokens count as spent. */
  readonly countCache: boolean;
  /** Ends all running calls. */
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly onTokenDrift?: ((ratio: number) => void) | undefined;
  /** Called when a call is over, with what is booked for it. */
  readonly onUsage?: ((usage: Usage) => void) | undefined;
}

type Usage = Parameters<Reservation['settle']>[0];

/** A request, the response to it, and what ends both. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
}

export type MeteringProxy = Awaited<ReturnType<typeof openMeteringProxy>>;

/**
 * Meters the calls of one run of Claude Code, between it and the provider, on loopback
 * (docs/claude-code.md#token-metering). Its address and key allow calls of one model while the task's budget lasts. Every
 * call is reserved beforehand, its output is limited to what is left, and it is settled with the provider's usage, or
 * with the received part of an interrupted response. When the budget is spent it answers 402. A call ends when the provider
 * is silent for as long as `model_calls` says, and no redirect is followed or passed on. Disposal ends all running calls and
 * waits until they are settled.
 */
export async function openMeteringProxy(options: MeteringProxyOptions) {
  const { model, budget, log } = options;
  const upstream = createUpstream(options);
  const secret = randomBytes(24).toString('base64url');
  const key = `run-${randomBytes(24).toString('base64url')}`;
  const closing = new AbortController();
  const ending = AbortSignal.any([options.signal, closing.signal]);
  const estimator = createInputEstimator();
  const active = new Set<Promise<void>>();
  /** Settlements of answered calls. The next call waits for them, so that it can use what they left. */
  const settling = new Set<Promise<void>>();
  let expected: InputEstimate = { total: 0, billed: 0 };
  let stopReason: string | undefined;
  let reservedOutput = 0;
  let exhausted: FleetError | undefined;
  let failure: FleetError | undefined;

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = authorizedPath(request, secret, key);
    if (path === undefined) {
      response.setHeader('connection', 'close');
      return sendError(response, 404, 'not_found_error', 'there is nothing here');
    }
    connections.authenticated(request.socket);
    const gone = new AbortController();
    response.on('close', () => gone.abort(new Error('the caller disconnected')));
    const signal = AbortSignal.any([ending, gone.signal]);
    const raw = await readBody(request);
    if (raw === undefined) return sendError(response, 413, 'request_too_large', 'the request is too long');
    if (isNestedDeeper(raw, LIMITS.nesting)) {
      const reason = `the request is nested more than ${LIMITS.nesting} levels deep`;
      return sendError(response, 400, 'invalid_request_error', reason);
    }
    const exchange: Exchange = { request, response, signal };
    if (path.endsWith('/count_tokens')) return countTokens(raw, exchange);
    const body = MessagesBody.safeParse(raw);
    if (!body.success || body.data.model !== options.modelName) {
      const reason = body.success
        ? `this run may call ${options.modelName} only`
        : 'this is not a call of the Messages API';
      return sendError(response, 400, 'invalid_request_error', reason);
    }
    await call(body.data, exchange);
  }

  async function countTokens(raw: unknown, { request, response, signal }: Exchange): Promise<void> {
    using counting = upstream.call('/v1/messages/count_tokens', raw, request.headers, signal);
    const counted = await counting.answer;
    response.writeHead(counted.status, responseHeaders(counted.headers));
    response.end(await counted.text());
  }

  async function call(body: MessagesBody, exchange: Exchange): Promise<void> {
    const { response, signal } = exchange;
    const estimate = await estimator.estimate(body);
    await Promise.allSettled(settling);
    const inputTokens = options.countCache ? estimate.total : estimate.billed;
    if (isConversation(body)) expected = { total: estimate.total, billed: inputTokens };
    const maxOutputTokens = Math.floor(Math.min(body.max_tokens, budget.remaining() - inputTokens));
    const reservation = await reserve(inputTokens, maxOutputTokens);
    if (reservation === undefined)
      return sendError(response, 402, 'billing_error', 'the token budget of this task is spent');
    const billed = { model, inputTokens: estimate.total, signal };
    await inModelSpan(options, model.info.id, async () => {
      let received: ReceivedResponse | undefined;
      let usage: Usage;
      reservedOutput += maxOutputTokens;
      const timed = model.measurement && timeCall(model.measurement);
      try {
        const limited = { ...body, max_tokens: maxOutputTokens };
        received = await relay(limited, exchange, timed?.heard);
      } finally {
        timed?.ended(received?.complete === true, signal);
        usage = await settle(
          reservation,
          // The budget counts a settlement from its start.
          relayedUsage(billed, received, { inputTokens, maxOutputTokens }).finally(() => {
            reservedOutput -= maxOutputTokens;
          }),
        );
      }
      if (received?.usage !== undefined && received.complete) {
        const { text, usage } = received;
        const cached = usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
        estimator.recordCached(body, estimate, cached);
        const metered = meteredInputTokens(billed, { text, usage: callFigures(usage) });
        if (metered !== undefined) options.onTokenDrift?.(metered / estimate.total);
      }
      const failed = received?.complete === true ? undefined : failure?.code;
      return { usage, finishReason: received?.stopReason, failure: failed };
    });
  }

  async function settle(reservation: Reservation, used: Promise<Usage>): Promise<Usage> {
    const settled = used.then((usage) => {
      options.onUsage?.({ ...usage, model: model.info.id });
      return reservation.settle(usage);
    });
    settling.add(settled);
    try {
      await settled;
      return await used;
    } finally {
      settling.delete(settled);
    }
  }

  async function reserve(inputTokens: number, maxOutputTokens: number): Promise<Reservation | undefined> {
    if (exhausted === undefined && maxOutputTokens >= MIN_OUTPUT_TOKENS)
      return budget.reserve({ inputTokens, maxOutputTokens });
    exhausted ??= new FleetError(
      'BUDGET_EXHAUSTED',
      `a model call with ${inputTokens} input tokens does not fit into the ${Math.max(0, budget.remaining())} tokens left of ${budget.limit}`,
    );
    return undefined;
  }

  /** Returns undefined when the provider refused the call, or was not reached. */
  async function relay(
    body: MessagesBody,
    { request, response, signal }: Exchange,
    heard?: () => void,
  ): Promise<ReceivedResponse | undefined> {
    using _call = model.calls?.begin();
    using sent = upstream.call('/v1/messages', body, request.headers, signal);
    const parser = createResponseParser(body.stream === true);
    const answer = await sent.answer.catch((error: unknown) => {
      if (!signal.aborted) model.calls?.ended(unansweredEnd(error));
      if (!(error instanceof SilenceError)) throw error;
      // The provider may charge for what it has read.
      refuse(error, response);
    });
    if (answer === undefined) return parser.end();
    model.calls?.ended(answer.ok ? { kind: 'answered' } : { kind: 'refused', status: answer.status });
    if (!answer.ok) {
      failure = providerFailure(answer.status, { retryable: answer.status === 429 || answer.status >= 500 });
      await relayRefusal(answer, response);
      return undefined;
    }
    failure = undefined;
    const cap = createOutputCap(body.max_tokens);
    response.writeHead(answer.status, responseHeaders(answer.headers));
    try {
      for await (const chunk of answer.body ?? []) {
        if (!response.write(chunk)) await once(response, 'drain', { signal });
        const added = parser.push(chunk);
        if (added !== '') {
          sent.heard();
          heard?.();
        }
        if (await cap.add(added)) throw new FleetError('MODEL_FAILED', TOO_MUCH, { retryable: false });
      }
      sent.signal.throwIfAborted();
    } catch (error) {
      const received = parser.end();
      if (!signal.aborted) {
        failure = upstream.failureOf(error);
        model.calls?.ended({ kind: 'broken' });
        log.warn({ err: error }, BROKE_OFF);
      }
      response.destroy();
      return received;
    }
    const received = parser.end();
    if (isConversation(body)) stopReason = received.stopReason;
    if (received.complete) response.end();
    else {
      failure = new FleetError('MODEL_FAILED', BROKE_OFF, { retryable: true });
      response.destroy();
    }
    return received;
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await route(request, response);
    } catch (error) {
      if (!ending.aborted && !response.destroyed) refuse(error, response);
      else response.destroy();
    }
  }

  /** Ends a call that got no answer. Claude Code learns no address of the provider. */
  function refuse(error: unknown, response: ServerResponse): void {
    failure = upstream.failureOf(error);
    log.warn({ err: failure }, "the model's provider could not be called");
    if (response.headersSent) response.destroy();
    else sendError(response, 502, 'api_error', 'the provider could not be reached');
  }

  const server = createServer((request, response) => {
    const work = handle(request, response).finally(() => active.delete(work));
    active.add(work);
  });
  const connections = limitConnections(server, {
    maxConnections: LIMITS.connections,
    maxUnauthenticated: LIMITS.unauthenticated,
  });
  server.requestTimeout = LIMITS.requestMs;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address !== 'object')
    throw new FleetError('INTERNAL', 'the metering proxy has no address');
  return {
    /** For `ANTHROPIC_BASE_URL`; contains a secret path. */
    url: `http://127.0.0.1:${address.port}/${secret}`,
    /** For `ANTHROPIC_API_KEY`; valid only at this proxy. */
    key,
    /** The estimated input of the conversation's next call; 0 before the first call. */
    expected: () => expected,
    /** Output tokens that are reserved for running calls, and may never be used. */
    reservedOutput: () => reservedOutput,
    /** The provider's `stop_reason` of the conversation's last response. */
    stopReason: () => stopReason,
    /** Why the conversation cannot continue, or why its last call failed. */
    failure: () => exhausted ?? failure,
    async [Symbol.asyncDispose](): Promise<void> {
      closing.abort(new Error('the run is over'));
      server.close();
      server.closeAllConnections();
      await Promise.allSettled(active);
    },
  };
}

const TOO_MUCH = "the model's provider sent more than was requested";
const BROKE_OFF = "a response of the model's provider was cut off";
