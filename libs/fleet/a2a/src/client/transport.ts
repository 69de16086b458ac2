import { readBounded, type TextAnswer, type TextExchange, type TlsFetch } from '@hermes-fleet/net';
import type { TlsKeys } from '@hermes-fleet/net/tls';
import {
  FleetError,
  isJsonObject,
  isNestedDeeper,
  type JsonObject,
  MAX_NESTING,
  parseJson,
} from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { z } from 'zod';
import { createDeadline, type Deadline } from './deadline.ts';
import { fromLegacyResult, toLegacyCall } from './legacy.ts';
import { invalidAnswer, refusedBy, timedOut, unreachable } from './peer-errors.ts';

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
  /** The peer must not get the call twice. Any other call is sent again when a kept connection has lost it. */
  readonly isOnce?: boolean;
  /** Is called before such a copy leaves: an error of the call is that of the copy, and the lost one may have arrived. */
  readonly onResend?: () => void;
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
  readonly exchange: TextExchange;
  /** Replaces `exchange` and `fetch`, for untrusted peers. */
  readonly request?: SendRequest | undefined;
  readonly fetch: TlsFetch;
  /** Where the certificates are configured, for messages; default: fleet.yaml. */
  readonly tlsKeys?: TlsKeys | undefined;
}

export interface RpcCall {
  readonly peer: PeerEndpoint;
  readonly method: string;
  readonly params: JsonObject;
  readonly accept: 'application/json' | 'text/event-stream';
  readonly traceparent?: string | undefined;
  readonly tlsKeys?: TlsKeys | undefined;
}

export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** Twice what a request may have: an answer may hold a request, and what else it holds is read by code that recurses. */
const MAX_ANSWER_NESTING = 2 * MAX_NESTING;

/** Makes a JSON-RPC call and validates its result. Throws PEER_UNREACHABLE, PEER_REFUSED, or the reason of `signal`. */
export async function callPeer<S extends z.ZodType>(
  deps: TransportDeps,
  peer: PeerEndpoint,
  method: string,
  params: JsonObject,
  schema: S,
  { timeoutMs, signal, traceparent, isOnce, onResend }: CallOptions,
): Promise<z.output<S>> {
  using deadline = createDeadline(deps.clock, timeoutMs, signal);
  const { tlsKeys } = deps;
  return await withNetworkErrors({ ...peer, tlsKeys, method, timeoutMs, deadline, signal }, async () => {
    const call: RpcCall = { peer, method, params, accept: 'application/json', traceparent };
    const answer = deps.request
      ? await readText(call, await post(deps, call, deadline.signal))
      : await deps.exchange(peer.url, {
          ...requestOf(deps, call, deadline.signal),
          isOnce,
          onResend,
          maxBytes: MAX_ANSWER_BYTES,
          errorOf: (status) => statusError(call, status),
          tooLarge: () => tooLong(call),
        });
    return readResult({ ...call, tlsKeys }, answer.status, parsed(answer), schema);
  });
}

/** Runs a network request and converts its failures to catalogue errors. */
export async function withNetworkErrors<T>(
  options: {
    name: string;
    url: string;
    tlsKeys?: TlsKeys | undefined;
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
    throw unreachable(options, options.method, thrown);
  }
}

function requestOf(
  deps: Pick<TransportDeps, 'extensions'>,
  { peer, method, params, accept, traceparent }: RpcCall,
  signal: AbortSignal,
) {
  const isLegacy = peer.version === '0.3';
  const sent = isLegacy ? toLegacyCall(peer.name, method, params) : { method, params };
  const hasExtensions = deps.extensions.length > 0 && !isLegacy;
  return {
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
}

/** Sends a call and returns its response. Throws PEER_UNREACHABLE or PEER_REFUSED for a status without an answer. */
export async function post(deps: TransportDeps, call: RpcCall, signal: AbortSignal): Promise<Response> {
  const { peer } = call;
  const init = requestOf(deps, call, signal);
  const response = await (deps.request ?? deps.fetch)(peer.url, { ...init, method: 'POST' });
  const error = statusError(call, response.status);
  if (!error) return response;
  await response.body?.cancel();
  throw error;
}

function statusError({ peer, method }: RpcCall, status: number): FleetError | undefined {
  if (status >= 500 && status !== 503) {
    const message = `peer "${peer.name}" could not answer ${method} (HTTP ${status})`;
    return new FleetError('PEER_UNREACHABLE', message);
  }
  if (status < 300 || status >= 400) return undefined;
  return invalidAnswer(peer.name, method, 'a redirect, which is not followed');
}

const tooLong = ({ peer, method }: RpcCall): FleetError =>
  invalidAnswer(peer.name, method, 'more than 4 MiB');

interface Answer {
  readonly body: unknown;
  readonly retryAfter: string | null;
}

/** Reads an answer of at most 4 MiB; `body` is undefined when it is not JSON. */
export async function readAnswer(call: RpcCall, response: Response): Promise<Answer> {
  return parsed(await readText(call, response));
}

async function readText(call: RpcCall, response: Response): Promise<TextAnswer> {
  const text = await readBounded(response, MAX_ANSWER_BYTES, () => tooLong(call));
  return { status: response.status, retryAfter: response.headers.get('retry-after'), text };
}

const parsed = ({ text, retryAfter }: TextAnswer): Answer => ({ body: parseJson(text), retryAfter });

/** Validates the result of an answer; throws PEER_REFUSED for an error and for an answer that is not A2A. */
export function readResult<S extends z.ZodType>(
  { peer, method, tlsKeys }: RpcCall,
  status: number,
  { body, retryAfter }: Answer,
  schema: S,
): z.output<S> {
  const error = isJsonObject(body) ? body.error : undefined;
  if (status !== 200 || error !== undefined) {
    throw refusedBy({ peer: peer.name, url: peer.url, tlsKeys, method, status, retryAfter, error });
  }
  if (!isJsonObject(body) || body.jsonrpc !== '2.0') {
    throw invalidAnswer(peer.name, method, 'something that is not JSON-RPC');
  }
  if (isNestedDeeper(body, MAX_ANSWER_NESTING))
    throw invalidAnswer(peer.name, method, `JSON of more than ${MAX_ANSWER_NESTING} levels`);
  const result = schema.safeParse(
    peer.version === '0.3' ? fromLegacyResult(method, body.result) : body.result,
  );
  if (!result.success) throw invalidAnswer(peer.name, method, 'a result of another shape');
  return result.data;
}
