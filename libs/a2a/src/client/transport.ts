import { type Clock, FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { z } from 'zod';
import { createDeadline, type Deadline } from './deadline.ts';
import { fromLegacyResult, toLegacyCall } from './legacy.ts';
import { invalidAnswer, refusedBy, timedOut, unreachable } from './peer-errors.ts';
import { FETCH_LIMIT_MS, postWithoutTimeout } from './untimed-post.ts';

export interface PeerEndpoint {
  readonly name: string;
  /** The JSON-RPC URL. */
  readonly url: string;
  readonly token?: string;
  /** Default 1.0. */
  readonly version?: '0.3' | '1.0';
}

export interface CallOptions {
  /** For the whole call, including its answer. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** The W3C trace context for the peer to continue. */
  readonly traceparent?: string | undefined;
}

/** Sends a request and returns its response without following redirects; rejects with network errors. */
export type SendRequest = (
  url: string,
  init: {
    readonly method: 'GET' | 'POST';
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly signal: AbortSignal;
  },
) => Promise<Response>;

export interface TransportDeps {
  readonly clock: Clock;
  readonly extensions: readonly string[];
  /** Replaces fetch, for untrusted peers. */
  readonly request?: SendRequest | undefined;
}

export interface RpcCall {
  readonly peer: PeerEndpoint;
  readonly method: string;
  readonly params: JsonObject;
  readonly accept: 'application/json' | 'text/event-stream';
  readonly traceparent?: string | undefined;
  /** The timeout is longer than `fetch` waits for response headers. */
  readonly slow?: boolean;
}

export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** Makes a JSON-RPC call and validates its result. Throws PEER_UNREACHABLE, PEER_REFUSED, or the reason of `signal`. */
export async function callPeer<S extends z.ZodType>(
  deps: TransportDeps,
  peer: PeerEndpoint,
  method: string,
  params: JsonObject,
  schema: S,
  { timeoutMs, signal, traceparent }: CallOptions,
): Promise<z.output<S>> {
  using deadline = createDeadline(deps.clock, timeoutMs, signal);
  return await withNetworkErrors({ name: peer.name, method, timeoutMs, deadline, signal }, async () => {
    const slow = timeoutMs > FETCH_LIMIT_MS;
    const call: RpcCall = { peer, method, params, accept: 'application/json', traceparent, slow };
    const response = await post(deps, call, deadline.signal);
    return readResult(call, response.status, await readAnswer(call, response), schema);
  });
}

/** Runs a network request and converts its failures to catalogue errors. */
export async function withNetworkErrors<T>(
  options: {
    name: string;
    method: string;
    timeoutMs: number;
    deadline: Deadline;
    signal: AbortSignal | undefined;
  },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (options.deadline.expired) throw timedOut(options.name, options.method, options.timeoutMs);
    if (options.signal?.aborted) throw options.signal.reason;
    if (thrown instanceof FleetError) throw thrown;
    throw unreachable(options.name, options.method, thrown);
  }
}

export async function post(deps: TransportDeps, call: RpcCall, signal: AbortSignal): Promise<Response> {
  const { peer, method, accept, traceparent } = call;
  const isLegacy = peer.version === '0.3';
  const sent = isLegacy ? toLegacyCall(peer.name, method, call.params) : { method, params: call.params };
  const hasExtensions = deps.extensions.length > 0 && !isLegacy;
  const init = {
    signal,
    headers: {
      accept,
      'content-type': 'application/json',
      ...(isLegacy ? {} : { 'a2a-version': '1.0' }),
      ...(hasExtensions ? { 'a2a-extensions': deps.extensions.join(',') } : {}),
      ...(peer.token === undefined ? {} : { authorization: `Bearer ${peer.token}` }),
      ...(traceparent === undefined ? {} : { traceparent }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...sent }),
  };
  // redirect: 'error' would look like a network failure. A redirect is never followed, because of the token.
  const response = await (deps.request
    ? deps.request(peer.url, { ...init, method: 'POST' })
    : call.slow
      ? postWithoutTimeout(peer.url, init)
      : fetch(peer.url, { ...init, method: 'POST', redirect: 'manual' }));
  if (response.status >= 500 && response.status !== 503) {
    await response.body?.cancel();
    throw new FleetError(
      'PEER_UNREACHABLE',
      `peer "${peer.name}" could not answer ${method} (HTTP ${response.status})`,
    );
  }
  if (response.status >= 300 && response.status < 400) {
    await response.body?.cancel();
    throw invalidAnswer(peer.name, method, 'a redirect, which is not followed');
  }
  return response;
}

interface Answer {
  readonly body: unknown;
  readonly retryAfter: string | null;
}

/** Reads an answer of at most 4 MiB; `body` is undefined when it is not JSON. */
export async function readAnswer({ peer, method }: RpcCall, response: Response): Promise<Answer> {
  const text = await readBounded(response, () => invalidAnswer(peer.name, method, 'more than 4 MiB'));
  const retryAfter = response.headers.get('retry-after');
  try {
    return { body: JSON.parse(text), retryAfter };
  } catch {
    return { body: undefined, retryAfter };
  }
}

/** Validates the result of an answer; throws PEER_REFUSED for an error and for an answer that is not A2A. */
export function readResult<S extends z.ZodType>(
  { peer, method }: RpcCall,
  status: number,
  { body, retryAfter }: Answer,
  schema: S,
): z.output<S> {
  const error = isJsonObject(body) ? body.error : undefined;
  if (status !== 200 || error !== undefined) {
    throw refusedBy({ peer: peer.name, method, status, retryAfter, error });
  }
  if (!isJsonObject(body) || body.jsonrpc !== '2.0') {
    throw invalidAnswer(peer.name, method, 'something that is not JSON-RPC');
  }
  const result = schema.safeParse(
    peer.version === '0.3' ? fromLegacyResult(method, body.result) : body.result,
  );
  if (!result.success) throw invalidAnswer(peer.name, method, 'a result of another shape');
  return result.data;
}

/** The text of an answer of at most 4 MiB; throws `tooLarge()` for a longer one. */
export async function readBounded(response: Response, tooLarge: () => FleetError): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES) throw tooLarge();
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
