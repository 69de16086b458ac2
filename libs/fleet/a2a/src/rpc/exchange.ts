import { Extensions } from '@a2a-js/sdk';
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { JsonRpcTransportHandler } from '@a2a-js/sdk/server';
import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { Caller, Clock, Deadlines, Ids, Log, Scope } from '@hermes-fleet/protocol/ports';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CardSource } from '../card/card-route.ts';
import { extendedCard } from '../card/extended-card.ts';
import type { OpenCall, OpenCalls } from '../server/open-calls.ts';
import {
  type Call,
  CallContext,
  type createRequestHandler,
  type HandlerDeps,
} from '../server/request-handler.ts';
import type { RpcId } from './envelope.ts';
import type { RpcReply } from './heartbeat-reply.ts';
import type { Method } from './methods.ts';
import { type OnRefused, reportRefusal } from './refused-request.ts';
import { errorReply, httpStatusOf } from './rpc-error.ts';

export interface CustomMethodCall {
  /** The raw JSON of `params`; undefined when absent. */
  readonly paramsText: string | undefined;
  readonly caller: Caller;
  /** The W3C trace context of the request. */
  readonly traceparent: string;
}

export interface CustomMethodReply {
  /** The HTTP status. */
  readonly status: number;
  readonly result: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A JSON-RPC method that a service adds to those of A2A. It takes precedence over them and ignores `A2A-Version`. Only
 * authentication is checked before it runs. An error that it throws becomes a JSON-RPC error.
 */
export interface CustomMethod {
  run(call: CustomMethodCall): Promise<CustomMethodReply>;
}

export interface A2AOptions extends Omit<HandlerDeps, 'ids'> {
  /** Builds the agent card for the requested host; called per request, with an untrusted Host header. */
  readonly card: CardSource;
  /** Supported extension URIs: echoed in `A2A-Extensions` when a client requests them. */
  readonly extensions: readonly string[];
  readonly log: Log;
  readonly clock: Clock;
  readonly ids?: Ids;
  /** Default 256. */
  readonly maxStreamsPerCaller?: number;
  /** Default 1,000: a waiting copy of a dispatch costs only its connection. */
  readonly maxWaitingPerCaller?: number;
  /** Default 15 s. */
  readonly heartbeatMs?: number;
  /** The part of the extended card that is about a caller, beside its scopes, in wire form; read at each request for that card. */
  readonly callerView?: (caller: Caller) => JsonObject;
  /** Further JSON-RPC methods, by name. */
  readonly methods?: Readonly<Record<string, CustomMethod>>;
  /**
   * Awaited before an authenticated request is answered with an error, unless a method or the intake has received it:
   * invalid JSON, not a request, too large, forbidden, invalid params, …
   */
  readonly onRefused?: OnRefused;
  /** Scopes beside `dispatch` and `announce` that let a caller send messages; the intake checks their use. */
  readonly sendScopes?: readonly Scope[];
  /**
   * True for data parts that the intake parses from their raw text. A message that such a part nests too deeply is not
   * refused: the part keeps its scalar members and its whole text.
   */
  readonly readsText?: (data: JsonObject) => boolean;
}

export interface RouteDeps extends A2AOptions {
  readonly ids: Ids;
  readonly calls: OpenCalls;
  /** Deadlines of HEARTBEAT_MS. */
  readonly heartbeats: Deadlines;
}

/** Progress of a request. */
export interface Progress {
  readonly request: FastifyRequest;
  /** The body as it arrived. */
  readonly text: string;
  readonly method: string | undefined;
  /** True once a method or the intake has received the request: later errors are not refusals. */
  handedOver: boolean;
}

/** A request whose method, authorization and parameters are checked. */
export interface Exchange {
  readonly deps: RouteDeps;
  readonly transports: Transports;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly id: RpcId;
  readonly method: Method;
  readonly params: JsonObject;
  readonly progress: Progress;
}

const UNTRACKED: OpenCall = {
  signal: new AbortController().signal,
  [Symbol.dispose]: () => undefined,
};

/** Registers a call that may last: it counts against the caller's limit and aborts when the client disconnects. */
export function openCall({ deps, request, method }: Exchange): OpenCall {
  if (method.kind === 'unary') return UNTRACKED;
  return deps.calls.openCall(request.caller.name, method.kind, request.raw.socket);
}

export function extensionsHeader({ method }: Pick<Exchange, 'method'>): string {
  return method.version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions';
}

/** The supported extensions that the request names. */
export function activeExtensions(exchange: Pick<Exchange, 'deps' | 'request' | 'method'>): readonly string[] {
  const { deps, request } = exchange;
  const requested = header(request, extensionsHeader(exchange)) ?? header(request, 'a2a-extensions');
  if (requested === undefined) return [];
  return Extensions.parseServiceParameter(requested).filter((uri) => deps.extensions.includes(uri));
}

export function callOf(exchange: Exchange, signal: AbortSignal): Call {
  const { deps, request, method, params, progress } = exchange;
  const { message } = params;
  const { caller } = request;
  const card = () => deps.card({ host: request.host, protocol: request.protocol });
  return {
    text: progress.text,
    onHandedOver: () => {
      progress.handedOver = true;
    },
    caller,
    card,
    extendedCard: () => extendedCard(card(), caller, deps.callerView),
    version: method.version,
    rawMessage: method.version === '1.0' && isJsonObject(message) ? message : undefined,
    activeExtensions: () => activeExtensions(exchange),
    lastEventId: header(request, 'last-event-id'),
    traceparent: request.trace.traceparent,
    signal,
    eventId: undefined,
    failure: undefined,
  };
}

interface Rpc {
  readonly method: string;
  readonly params: JsonObject;
}

export type Transports = ReturnType<typeof createTransports>;

/** The SDK's transport handlers of both versions. */
export function createTransports(methods: ReturnType<typeof createRequestHandler>) {
  const current = new JsonRpcTransportHandler({
    ...methods,
    getAgentCard: () => Promise.reject(new TypeError('the transport of A2A 1.0 asked for the card')),
  });
  return {
    /** Answers a request. Do not send its error replies: see Call.failure. */
    handle({ id, method }: Pick<Exchange, 'id' | 'method'>, call: Call, rpc: Rpc): Promise<unknown> {
      const context = new CallContext(method.version, call);
      const request = { jsonrpc: '2.0', id, ...rpc };
      if (method.version === '1.0') return current.handle(request, context);
      // It asks for the card without a context.
      const getAgentCard = async () => call.card();
      return new LegacyJsonRpcTransportHandler({ ...methods, getAgentCard }).handle(request, context);
    },
  };
}

/** Reports an error as a refusal unless a method or the intake has received the request. */
export async function reportIfRefused(deps: RouteDeps, progress: Progress, thrown: unknown): Promise<void> {
  const { request, text, method, handedOver } = progress;
  if (handedOver) return;
  const error = FleetError.from(thrown);
  await reportRefusal(deps, request, { text, error, ...(method === undefined ? {} : { method }) });
}

/** Converts a thrown value to a JSON-RPC error reply and records it for the request's log line. */
export function toError(
  { request, reply, id }: Pick<Exchange, 'request' | 'reply' | 'id'>,
  thrown: unknown,
): RpcReply {
  const error = FleetError.from(thrown);
  request.failure = error;
  if (error.retryAfterS !== undefined && !reply.raw.headersSent) {
    reply.header('retry-after', String(Math.ceil(error.retryAfterS)));
  }
  return { status: httpStatusOf(error), body: errorReply(id, error) };
}

export function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}
