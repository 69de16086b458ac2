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
import { createDeadline } from './deadline.ts';
import { fromLegacyResult, toLegacyCall } from './legacy.ts';
import { type Called, invalidAnswer, refusedBy } from './peer-errors.ts';

export interface PeerEndpoint {
  readonly name: string;
  /** The JSON-RPC URL. */
  readonly url: string;
  readonly token?: string | undefined;
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

export interface RpcCall extends Called, Pick<PeerEndpoint, 'token' | 'version'> {
  readonly params: JsonObject;
  readonly accept: 'application/json' | 'text/event-stream';
  readonly traceparent?: string | undefined;
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
  const { clock, tlsKeys } = deps;
  const call: RpcCall = { ...peer, method, params, accept: 'application/json', traceparent, tlsKeys };
  using deadline = createDeadline(clock, call, timeoutMs, signal);
  return await deadline.during(async () => {
    const answer = deps.request
      ? await readText(call, await post(deps, call, deadline.signal))
      : await deps.exchange(peer.url, {
          ...requestOf(deps, call, deadline.signal),
          isOnce,
          onResend,
          maxBytes: MAX_ANSWER_BYTES,
          errorOf: (status) => statusError(call, status),
          tooLarge: () => tooLarge(call),
        });
    return readResult(call, answer, schema);
  });
}

function requestOf(
  deps: Pick<TransportDeps, 'extensions'>,
  { name, version, token, method, params, accept, traceparent }: RpcCall,
  signal: AbortSignal,
) {
  const isLegacy = version === '0.3';
  const sent = isLegacy ? toLegacyCall(name, method, params) : { method, params };
  const hasExtensions = deps.extensions.length > 0 && !isLegacy;
  return {
    signal,
    headers: {
      accept,
      'content-type': 'application/json',
      ...(isLegacy ? {} : { 'a2a-version': '1.0' }),
      ...(hasExtensions ? { 'a2a-extensions': deps.extensions.join(',') } : {}),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(traceparent === undefined ? {} : { traceparent }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...sent }),
  };
}

/** Sends a call and returns its response. Throws PEER_UNREACHABLE or PEER_REFUSED for a status without an answer. */
export async function post(deps: TransportDeps, call: RpcCall, signal: AbortSignal): Promise<Response> {
  const init = requestOf(deps, call, signal);
  const response = await (deps.request ?? deps.fetch)(call.url, { ...init, method: 'POST' });
  const error = statusError(call, response.status);
  if (!error) return response;
  await response.body?.cancel();
  throw error;
}

function statusError(call: RpcCall, status: number): FleetError | undefined {
  if (status >= 500 && status !== 503) {
    const message = `peer "${call.name}" could not answer ${call.method} (HTTP ${status})`;
    return new FleetError('PEER_UNREACHABLE', message);
  }
  if (status < 300 || status >= 400) return undefined;
  return invalidAnswer(call, 'a redirect, which is not followed');
}

const tooLarge = (called: Called): FleetError => invalidAnswer(called, 'more than 4 MiB');

/** Reads an answer of at most 4 MiB. */
export async function readText(called: Called, response: Response): Promise<TextAnswer> {
  const text = await readBounded(response, MAX_ANSWER_BYTES, () => tooLarge(called));
  return { status: response.status, retryAfter: response.headers.get('retry-after'), text };
}

/** Validates the result of an answer; throws PEER_REFUSED for an error and for an answer that is not A2A. */
export function readResult<S extends z.ZodType>(call: RpcCall, answer: TextAnswer, schema: S): z.output<S> {
  const body = parseJson(answer.text);
  const error = isJsonObject(body) ? body.error : undefined;
  if (answer.status !== 200 || error !== undefined) throw refusedBy(call, answer, error);
  if (!isJsonObject(body) || body.jsonrpc !== '2.0')
    throw invalidAnswer(call, 'something that is not JSON-RPC');
  if (isNestedDeeper(body, MAX_ANSWER_NESTING))
    throw invalidAnswer(call, `JSON of more than ${MAX_ANSWER_NESTING} levels`);
  const result = schema.safeParse(
    call.version === '0.3' ? fromLegacyResult(call.method, body.result) : body.result,
  );
  if (!result.success) throw invalidAnswer(call, 'a result of another shape');
  return result.data;
}
