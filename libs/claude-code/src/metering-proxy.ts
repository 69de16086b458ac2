import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AgentModel } from '@hermes-fleet/agent';
import { createOutputCap, MIN_OUTPUT_TOKENS, meteredInputTokens, providerFailure } from '@hermes-fleet/agent';
import { type Budget, FleetError, type Log, type Reservation } from '@hermes-fleet/protocol';
import { type Arrived, tallyAnswer } from './answer-tally.ts';
import { createInputEstimator, type InputEstimate, MessagesBody } from './input-estimate.ts';
import { billOf, usageOf } from './proxy-bill.ts';
import { isAsked, LIMITS, readBody, refuse, relayedHeaders, requestHeaders } from './proxy-wire.ts';

export interface MeteringProxyOptions {
  /** The address of the provider's API, without `/v1`. */
  readonly upstream: string;
  /** The provider's key: it stays in this process. */
  readonly apiKey: string;
  /** As the provider knows it: no other may be called. */
  readonly modelName: string;
  readonly model: AgentModel;
  readonly budget: Budget;
  /** Whether cached tokens count as spent. */
  readonly countCache: boolean;
  /** Ends what is under way. */
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly onTokenDrift?: ((ratio: number) => void) | undefined;
}

export interface MeteringProxy extends AsyncDisposable {
  /** For `ANTHROPIC_BASE_URL`: with a path that nobody else knows. */
  readonly url: string;
  /** For `ANTHROPIC_API_KEY`: worth nothing anywhere else. */
  readonly key: string;
  /** What the next call of the conversation is expected to be billed as input, and to send; 0 before the first. */
  expected(): InputEstimate;
  /** Output that is reserved for calls under way, and may never come. In tokens. */
  reservedOutput(): number;
  /** Why the model stopped its last answer in the conversation, in the provider's word. */
  stopReason(): string | undefined;
  /** Why the conversation cannot go on, or why its last call had no answer. */
  failure(): FleetError | undefined;
}

/**
 * Stands between Claude Code and the provider, on loopback (design 3, Claude Code executor). Whoever knows its address
 * and key may call the one model, for as long as the task's budget lasts: every call is reserved before, its output
 * bounded by what is left, and settled by the provider's bill, or by what arrived of an answer that broke off. When the
 * budget is gone it answers 402. Disposing of it ends what is under way, and waits until all of it is booked.
 */
export async function openMeteringProxy(o: MeteringProxyOptions): Promise<MeteringProxy> {
  const secret = randomBytes(24).toString('base64url');
  const key = `run-${randomBytes(24).toString('base64url')}`;
  const closing = new AbortController();
  const ending = AbortSignal.any([o.signal, closing.signal]);
  const estimator = createInputEstimator();
  const active = new Set<Promise<void>>();
  /** Of calls whose answers are out, so that the next one finds what they left over. */
  const settling = new Set<Promise<void>>();
  let expected: InputEstimate = { total: 0, billed: 0 };
  let stopReason: string | undefined;
  let reservedOutput = 0;
  let exhausted: FleetError | undefined;
  let failure: FleetError | undefined;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = isAsked(request, secret, key);
    if (path === undefined) return refuse(response, 404, 'not_found_error', 'there is nothing here');
    const gone = new AbortController();
    response.on('close', () => gone.abort(new Error('the caller went away')));
    const signal = AbortSignal.any([ending, gone.signal]);
    const raw = await readBody(request);
    if (raw === undefined) return refuse(response, 413, 'request_too_large', 'the request is too long');
    if (path.endsWith('/count_tokens')) return count(raw, request, response, signal);
    const body = MessagesBody.safeParse(raw);
    if (!body.success || body.data.model !== o.modelName) {
      const reason = body.success
        ? `this run may call ${o.modelName} only`
        : 'this is no call of the Messages API';
      return refuse(response, 400, 'invalid_request_error', reason);
    }
    await call(body.data, request, response, signal);
  }

  async function count(
    raw: unknown,
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ) {
    const counted = await send('/v1/messages/count_tokens', raw, request, signal);
    response.writeHead(counted.status, relayedHeaders(counted.headers));
    response.end(await counted.text());
  }

  const send = (path: string, body: unknown, request: IncomingMessage, signal: AbortSignal) =>
    fetch(`${o.upstream}${path}`, {
      method: 'POST',
      headers: { ...requestHeaders(request.headers), 'x-api-key': o.apiKey },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal,
    });

  async function call(
    body: MessagesBody,
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const estimate = await estimator.estimate(body);
    await Promise.allSettled(settling);
    const inputTokens = o.countCache ? estimate.total : estimate.billed;
    if (isConversation(body)) expected = { total: estimate.total, billed: inputTokens };
    const room = Math.floor(Math.min(body.max_tokens, o.budget.remaining() - inputTokens));
    const reservation = await reserve(inputTokens, room);
    if (reservation === undefined)
      return refuse(response, 402, 'billing_error', 'the token budget of this task is spent');
    let arrived: Arrived = NOTHING;
    reservedOutput += room;
    try {
      arrived = await relay({ ...body, max_tokens: room }, request, response, signal);
    } finally {
      const billed = { model: o.model, inputTokens: estimate.total, signal };
      const settled = billOf(billed, arrived, { inputTokens, room })
        // From here on the budget knows what the call took.
        .finally(() => {
          reservedOutput -= room;
        })
        .then((bill) => reservation.settle(bill));
      settling.add(settled);
      try {
        await settled;
      } finally {
        settling.delete(settled);
      }
      const { usage } = arrived;
      if (usage !== undefined && arrived.complete) {
        estimator.learn(body, estimate, usage.cache_read_input_tokens + usage.cache_creation_input_tokens);
        const metered = meteredInputTokens(billed, { text: arrived.text, usage: usageOf(usage) }, room);
        if (metered !== undefined) o.onTokenDrift?.(metered / estimate.total);
      }
    }
  }

  async function reserve(inputTokens: number, room: number): Promise<Reservation | undefined> {
    if (exhausted === undefined && room >= MIN_OUTPUT_TOKENS)
      return o.budget.reserve({ inputTokens, maxOutputTokens: room });
    exhausted ??= new FleetError(
      'BUDGET_EXHAUSTED',
      `a model call with ${inputTokens} input tokens does not fit into the ${Math.max(0, o.budget.remaining())} tokens left of ${o.budget.limit}`,
    );
    return undefined;
  }

  async function relay(
    body: MessagesBody,
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<Arrived> {
    const answered = await send('/v1/messages', body, request, signal);
    if (!answered.ok) {
      failure = providerFailure(answered.status, {
        retryable: answered.status === 429 || answered.status >= 500,
      });
      await refusal(answered, response);
      return NOTHING;
    }
    failure = undefined;
    const tally = tallyAnswer(body.stream === true);
    const cap = createOutputCap(body.max_tokens);
    response.writeHead(answered.status, relayedHeaders(answered.headers));
    try {
      for await (const chunk of answered.body ?? []) {
        if (!response.write(chunk)) await once(response, 'drain', { signal });
        if (await cap.add(tally.push(chunk)))
          throw new FleetError('MODEL_FAILED', TOO_MUCH, { retryable: false });
      }
      signal.throwIfAborted();
    } catch (error) {
      const arrived = tally.end();
      if (!signal.aborted) {
        failure = failureOf(error);
        o.log.warn({ err: error }, "an answer of the model's provider broke off");
      }
      response.destroy();
      return { ...arrived, began: true };
    }
    const arrived = tally.end();
    if (isConversation(body)) stopReason = arrived.stop;
    if (arrived.complete) response.end();
    else {
      failure = new FleetError('MODEL_FAILED', BROKE_OFF, { retryable: true });
      response.destroy();
    }
    return { ...arrived, began: true };
  }

  /** A refusal as it came, except for one of the key, which Claude Code would try again for minutes. */
  async function refusal(answered: Response, response: ServerResponse): Promise<void> {
    const { status } = answered;
    const text = (await answered.text()).slice(0, LIMITS.refusalChars);
    if (status === 401 || status === 403 || status < 400)
      return refuse(response, 402, 'billing_error', `the provider answered ${status}`);
    response.writeHead(status, relayedHeaders(answered.headers));
    response.end(text);
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await answer(request, response);
    } catch (error) {
      if (!ending.aborted && !response.destroyed) {
        failure = failureOf(error);
        o.log.warn({ err: error }, "the model's provider could not be called");
      }
      if (response.headersSent) response.destroy();
      else refuse(response, 502, 'api_error', 'the provider could not be reached');
    }
  }

  const server = createServer((request, response) => {
    const work = handle(request, response).finally(() => active.delete(work));
    active.add(work);
  });
  server.maxConnections = LIMITS.connections;
  server.requestTimeout = LIMITS.requestMs;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address !== 'object')
    throw new FleetError('INTERNAL', 'no address to meter at');
  return {
    url: `http://127.0.0.1:${address.port}/${secret}`,
    key,
    expected: () => expected,
    reservedOutput: () => reservedOutput,
    stopReason: () => stopReason,
    failure: () => exhausted ?? failure,
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the run is over'));
      server.close();
      server.closeAllConnections();
      await Promise.allSettled(active);
    },
  };
}

const NOTHING: Arrived = { text: '', usage: undefined, stop: undefined, complete: false, began: false };

const TOO_MUCH = "the model's provider sent more than was ordered";

const BROKE_OFF = "an answer of the model's provider broke off";

const failureOf = (error: unknown): FleetError =>
  error instanceof FleetError ? error : providerFailure(undefined, { retryable: true, cause: error });

/** Calls with tools are the conversation; those without are helpers, e.g. a summary. */
const isConversation = ({ tools = [] }: MessagesBody): boolean => tools.length > 0;
