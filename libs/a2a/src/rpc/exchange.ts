import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';
import {
  type Clock,
  FleetError,
  isJsonObject,
  type JsonObject,
  type Log,
  type Scope,
} from '@hermes-fleet/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CardSource } from '../card/card-route.ts';
import type { OpenCall, OpenCalls } from '../server/open-calls.ts';
import { type Call, createRequestHandler, type HandlerDeps } from '../server/request-handler.ts';
import type { CustomMethod } from './custom-method.ts';
import type { RpcId } from './envelope.ts';
import type { RpcReply } from './heartbeat-reply.ts';
import type { Method } from './methods.ts';
import { type OnRefused, reportRefusal } from './refused-request.ts';
import { errorReply, httpStatusOf } from './rpc-error.ts';

export interface RouteDeps extends HandlerDeps {
  readonly card: CardSource;
  readonly extensions: readonly string[];
  readonly clock: Clock;
  readonly calls: OpenCalls;
  readonly log: Log;
  readonly methods?: Readonly<Record<string, CustomMethod>> | undefined;
  readonly onRefused?: OnRefused | undefined;
  readonly sendScopes?: readonly Scope[] | undefined;
  readonly readsText?: ((data: JsonObject) => boolean) | undefined;
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
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly id: RpcId;
  readonly method: Method;
  readonly params: JsonObject;
  readonly progress: Progress;
}

const UNTRACKED: OpenCall = {
  signal: new AbortController().signal,
  clientGone: () => undefined,
  [Symbol.dispose]: () => undefined,
};

/** Registers a call that may last: it counts against the caller's limit and aborts when the client disconnects. */
export function openCall({ deps, request, reply, method }: Exchange): OpenCall {
  if (method.kind === 'unary') return UNTRACKED;
  const open = deps.calls.open(request.caller.name, method.kind);
  reply.raw.once('close', open.clientGone);
  return open;
}

export function callOf({ deps, request, method, params, progress }: Exchange, signal: AbortSignal): Call {
  const { message } = params;
  return {
    text: progress.text,
    onHandedOver: () => {
      progress.handedOver = true;
    },
    caller: request.caller,
    card: () => deps.card({ host: request.host, protocol: request.protocol }),
    rawMessage: method.version === '1.0' && isJsonObject(message) ? message : undefined,
    lastEventId: header(request, 'last-event-id'),
    traceparent: request.trace.traceparent,
    signal,
    eventId: undefined,
    failure: undefined,
  };
}

/** Runs the SDK's transport handler for the method's version. Do not send its error replies: see Call.failure. */
export function transport(
  { deps, id, method }: Exchange,
  call: Call,
  rpc: { readonly method: string; readonly params: JsonObject },
): Promise<unknown> {
  const context = new ServerCallContext({ requestedVersion: method.version });
  const Handler = method.version === '1.0' ? JsonRpcTransportHandler : LegacyJsonRpcTransportHandler;
  return new Handler(createRequestHandler(deps, call)).handle({ jsonrpc: '2.0', id, ...rpc }, context);
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
