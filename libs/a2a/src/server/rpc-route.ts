import { Extensions } from '@a2a-js/sdk';
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';
import { type Clock, FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CardSource } from './card-route.ts';
import { type RpcId, type RpcRequest, readEnvelope } from './envelope.ts';
import { authorize, findMethod, type Method, readParams } from './methods.ts';
import { CLOSING, GONE, type OpenCall, type OpenCalls } from './open-calls.ts';
import { type RpcReply, replyPatiently } from './patient-reply.ts';
import { type Call, createRequestHandler, type HandlerDeps } from './request-handler.ts';
import { errorReply, httpStatusOf } from './rpc-error.ts';
import { pumpEvents, type SseEvent } from './sse-pump.ts';

export interface RouteDeps extends HandlerDeps {
  readonly card: CardSource;
  readonly extensions: readonly string[];
  readonly clock: Clock;
  readonly calls: OpenCalls;
}

type Envelopes = AsyncGenerator<unknown, void, undefined>;

/** The handler of POST /jsonrpc: every answer is JSON-RPC, and no exception's text is in it. */
export function createRpcRoute(deps: RouteDeps) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const envelope = readEnvelope(typeof request.body === 'string' ? request.body : '');
    if (!envelope.ok) return sendError(request, reply, envelope.id, envelope.error);
    const { id, notification } = envelope.request;
    try {
      const method = findMethod(envelope.request.method, header(request, 'a2a-version'));
      authorize(request.caller, method);
      const params = readParams(method, envelope.request.params);
      echoExtensions(deps, request, reply, method);
      if (notification) return await notify(deps, request, reply, method, params);
      return await answer(deps, request, reply, method, { ...envelope.request, params });
    } catch (thrown) {
      if (notification) request.failure = FleetError.from(thrown);
      return notification ? reply.code(204).send() : sendError(request, reply, id, thrown);
    }
  };
}

async function answer(
  deps: RouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  method: Method,
  rpc: RpcRequest & { readonly params: JsonObject },
): Promise<FastifyReply> {
  using open = openFor(deps, request, reply, method);
  const call = callOf(deps, request, rpc.params, method, open.signal);
  if (method.kind === 'stream' && !call.card().capabilities?.streaming) throw notStreaming();
  const work = transport(deps, method, call, rpc);
  if (method.kind === 'send') {
    return await replyPatiently(reply, toReply(request, reply, call, rpc.id, work), deps.clock);
  }
  const result = await work;
  if (isStream(result)) return await stream(deps, request, reply, rpc.id, call, result);
  const { status, body } = await toReply(request, reply, call, rpc.id, Promise.resolve(result));
  return reply.code(status).type(JSON_TYPE).send(body);
}

const JSON_TYPE = 'application/json; charset=utf-8';

const notStreaming = (): FleetError =>
  new FleetError('UNSUPPORTED_OPERATION', 'this agent does not stream; use SendMessage and GetTask');

/** What a reply of the transport means; its errors are replaced by what was really thrown. */
async function toReply(
  request: FastifyRequest,
  reply: FastifyReply,
  call: Call,
  id: RpcId,
  work: Promise<unknown>,
): Promise<RpcReply> {
  const body = await work;
  if (isJsonObject(body) && body.error === undefined) return { status: 200, body };
  if (call.signal.reason === GONE) return { status: 499, body: {} };
  return toError(request, reply, id, call.failure ?? body);
}

async function stream(
  deps: RouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  id: RpcId,
  call: Call,
  envelopes: Envelopes,
): Promise<FastifyReply> {
  // What fails before the first event is still answered as plain JSON, with its own status.
  const first = await envelopes.next();
  const onError = (thrown: unknown): SseEvent | undefined => {
    if (call.signal.reason === CLOSING || call.signal.reason === GONE) return undefined;
    return { data: toError(request, reply, id, thrown).body };
  };
  const { signal } = call;
  await pumpEvents(reply, numbered(call, first, envelopes), { clock: deps.clock, signal, onError });
  return reply;
}

async function* numbered(
  call: Call,
  first: IteratorResult<unknown, void>,
  envelopes: Envelopes,
): AsyncGenerator<SseEvent, void, undefined> {
  try {
    for (let next = first; !next.done; next = await envelopes.next()) {
      if (!isJsonObject(next.value)) throw new TypeError('the transport yielded no envelope');
      yield { ...(call.eventId === undefined ? {} : { id: String(call.eventId) }), data: next.value };
    }
  } finally {
    await envelopes.return();
  }
}

/** Carries out a request that wants no answer; only messages and cancellations do something that lasts. */
async function notify(
  deps: RouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  method: Method,
  params: JsonObject,
): Promise<FastifyReply> {
  const name = NOTIFIABLE[method.name];
  if (name !== undefined) {
    using open = openFor(deps, request, reply, method);
    const call = callOf(deps, request, params, method, open.signal);
    const configuration = isJsonObject(params.configuration) ? params.configuration : {};
    const once = { ...configuration, returnImmediately: true, blocking: false };
    await transport(deps, method, call, {
      id: null,
      method: name,
      params:
        name.startsWith('tasks/') || name === 'CancelTask' ? params : { ...params, configuration: once },
    });
    if (call.failure !== undefined) request.failure = FleetError.from(call.failure);
  }
  return reply.code(204).send();
}

const NOTIFIABLE: Readonly<Partial<Record<string, string>>> = {
  SendMessage: 'SendMessage',
  SendStreamingMessage: 'SendMessage',
  CancelTask: 'CancelTask',
  'message/send': 'message/send',
  'message/stream': 'message/send',
  'tasks/cancel': 'tasks/cancel',
};

function transport(
  deps: RouteDeps,
  method: Method,
  call: Call,
  rpc: { readonly id: RpcId; readonly method: string; readonly params: JsonObject },
): Promise<unknown> {
  const handler = createRequestHandler(deps, call);
  const context = new ServerCallContext({ requestedVersion: method.version });
  const Handler = method.version === '1.0' ? JsonRpcTransportHandler : LegacyJsonRpcTransportHandler;
  return new Handler(handler).handle({ jsonrpc: '2.0', ...rpc }, context);
}

function callOf(
  deps: RouteDeps,
  request: FastifyRequest,
  params: JsonObject,
  method: Method,
  signal: AbortSignal,
): Call {
  const message = params.message;
  return {
    caller: request.caller,
    card: () => deps.card({ host: request.host, protocol: request.protocol }),
    rawMessage: method.version === '1.0' && isJsonObject(message) ? message : undefined,
    lastEventId: header(request, 'last-event-id'),
    signal,
    eventId: undefined,
    failure: undefined,
  };
}

const NEVER_ABORTED: OpenCall = {
  signal: new AbortController().signal,
  gone: () => undefined,
  [Symbol.dispose]: () => undefined,
};

/** A call that may last is counted, and ends when its client leaves. */
function openFor(deps: RouteDeps, request: FastifyRequest, reply: FastifyReply, method: Method): OpenCall {
  if (method.kind === 'unary') return NEVER_ABORTED;
  const open = deps.calls.open(request.caller.name, method.kind);
  reply.raw.once('close', open.gone);
  return open;
}

/** Of the extensions that a client asks for, those that are spoken here (design 2, Carriage). */
function echoExtensions(
  deps: RouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { version }: Method,
): void {
  const name = version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions';
  const asked = Extensions.parseServiceParameter(header(request, name) ?? header(request, 'a2a-extensions'));
  const active = asked.filter((uri) => deps.extensions.includes(uri));
  if (active.length > 0) reply.header(name, Extensions.toServiceParameter(active));
}

/** Any thrown value as a JSON-RPC error reply; the request's log line tells what it was. */
function toError(request: FastifyRequest, reply: FastifyReply, id: RpcId, thrown: unknown): RpcReply {
  const error = FleetError.from(thrown);
  request.failure = error;
  if (error.retryAfterS !== undefined && !reply.raw.headersSent) {
    reply.header('retry-after', String(Math.ceil(error.retryAfterS)));
  }
  return { status: httpStatusOf(error), body: errorReply(id, error) };
}

function sendError(request: FastifyRequest, reply: FastifyReply, id: RpcId, thrown: unknown): FastifyReply {
  const { status, body } = toError(request, reply, id, thrown);
  return reply.code(status).type(JSON_TYPE).send(body);
}

function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}

function isStream(result: unknown): result is Envelopes {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result;
}
