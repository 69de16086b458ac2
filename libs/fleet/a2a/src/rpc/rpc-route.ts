import { Extensions } from '@a2a-js/sdk';
import { FleetError, isJsonObject, type JsonObject, jsonMembers } from '@hermes-fleet/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CLIENT_GONE } from '../server/open-calls.ts';
import { pushNotSupported } from '../server/push-methods.ts';
import { type Call, createRequestHandler } from '../server/request-handler.ts';
import { requestedVersion } from '../wire/requested-version.ts';
import { readEnvelope } from './envelope.ts';
import {
  activeExtensions,
  type CustomMethod,
  callOf,
  createTransports,
  type Exchange,
  extensionsHeader,
  openCall,
  type Progress,
  type RouteDeps,
  reportIfRefused,
  toError,
} from './exchange.ts';
import { type RpcReply, replyWithHeartbeat, sendReply } from './heartbeat-reply.ts';
import { authorize, findMethod, readParams } from './methods.ts';
import { isStream, streamReplies } from './sse-stream.ts';

/** The handler of POST /jsonrpc. Every answer is JSON-RPC, and none holds the text of an unexpected exception. */
export function createRpcRoute(deps: RouteDeps) {
  const own = new Map(Object.entries(deps.methods ?? {}));
  const reading = { isOwn: (name: string) => own.has(name), readsText: deps.readsText };
  const transports = createTransports(createRequestHandler(deps));
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const text = typeof request.body === 'string' ? request.body : '';
    const envelope = readEnvelope(text, reading);
    const { id } = envelope.ok ? envelope.request : envelope;
    const name = envelope.ok ? envelope.request.method : envelope.method;
    const progress: Progress = { request, text, method: name, handedOver: false };
    try {
      if (!envelope.ok) throw envelope.error;
      const ownMethod = own.get(envelope.request.method);
      if (ownMethod !== undefined) {
        const paramsText = paramsIn(text);
        progress.handedOver = true;
        request.span?.set(rpcAttributes(name));
        const { status, body } = await runCustomMethod(ownMethod, { request, reply, id }, paramsText);
        if (envelope.request.notification) return reply.code(204).send();
        sendReply(reply, status, body);
        return reply;
      }
      const method = findMethod(envelope.request.method, requestedVersion(request));
      request.span?.set(rpcAttributes(name));
      authorize(request.caller, method, deps.sendScopes);
      if (method.isPush && deps.push === undefined) throw pushNotSupported();
      const params = readParams(method, envelope.request.params);
      progress.handedOver = !method.takesMessage;
      const exchange: Exchange = { deps, transports, request, reply, id, method, params, progress };
      if (!envelope.request.notification) {
        await answer(exchange);
        return reply;
      }
      await runNotification(exchange);
    } catch (thrown) {
      const { status, body } = toError({ request, reply, id }, thrown);
      await reportIfRefused(deps, progress, thrown);
      if (!envelope.ok || !envelope.request.notification) {
        sendReply(reply, status, body);
        return reply;
      }
    }
    return reply.code(204).send();
  };
}

/** Attributes of the span of a request whose method is known: semantic conventions of OpenTelemetry for RPC. */
const rpcAttributes = (method: string | undefined) => ({ 'rpc.system': 'jsonrpc', 'rpc.method': method });

/** The raw text of a request's params. Throws INVALID_REQUEST for duplicate params, which are ambiguous. */
function paramsIn(text: string): string | undefined {
  const [params, ...more] = (jsonMembers(text) ?? []).filter(({ name }) => name === 'params');
  if (more.length > 0)
    throw new FleetError('INVALID_REQUEST', 'params occurs more than once; send one request at a time');
  return params?.text;
}

async function runCustomMethod(
  method: CustomMethod,
  { request, reply, id }: Pick<Exchange, 'request' | 'reply' | 'id'>,
  paramsText: string | undefined,
): Promise<RpcReply> {
  const { caller, trace } = request;
  const call = { paramsText, caller, traceparent: trace.traceparent };
  const { status, result, headers } = await method.run(call);
  reply.headers(headers ?? {});
  return { status, body: { jsonrpc: '2.0', id, result } };
}

async function answer(exchange: Exchange): Promise<void> {
  const { deps, reply, method, params } = exchange;
  echoExtensions(exchange);
  const open = openCall(exchange);
  // A `using` here costs more than all else about an open call.
  try {
    const call = callOf(exchange, open.signal);
    if (method.kind === 'stream' && !call.card().capabilities?.streaming) {
      throw new FleetError(
        'UNSUPPORTED_OPERATION',
        'this agent does not stream; use SendMessage and GetTask',
      );
    }
    const result = exchange.transports.handle(exchange, call, { method: method.name, params });
    if (method.kind === 'send') {
      await replyWithHeartbeat(reply, toReply(exchange, call, result), deps.heartbeats);
      return;
    }
    const settled = await result;
    if (isStream(settled)) {
      await streamReplies(exchange, call, settled);
      return;
    }
    const { status, body } = await toReply(exchange, call, settled);
    sendReply(reply, status, body);
  } finally {
    open[Symbol.dispose]();
  }
}

/** The methods that wait or stream, by name: the one that has the same effect at once, with `returnImmediately`. */
const WITHOUT_STREAM: Readonly<Record<string, string>> = {
  SendStreamingMessage: 'SendMessage',
  'message/stream': 'message/send',
};

/** Runs a request without an id, which is never answered; failures are only logged (JSON-RPC 2.0, section 4.1). */
async function runNotification(exchange: Exchange): Promise<void> {
  const { deps, request, method, params, progress, transports } = exchange;
  // No other method has an effect.
  if (!method.takesMessage && !/cancel/i.test(method.name)) return;
  using open = openCall(exchange);
  const call = callOf(exchange, open.signal);
  const name = WITHOUT_STREAM[method.name] ?? method.name;
  await transports.handle(exchange, call, { method: name, params: withoutWaiting(params) });
  if (call.failure === undefined) return;
  request.failure = FleetError.from(call.failure);
  await reportIfRefused(deps, progress, call.failure);
}

function withoutWaiting(params: JsonObject): JsonObject {
  if (params.message === undefined) return params;
  const configuration = isJsonObject(params.configuration) ? params.configuration : {};
  return { ...params, configuration: { ...configuration, returnImmediately: true, blocking: false } };
}

/** Converts a reply of the SDK's transport and replaces its error with the original one. */
async function toReply(exchange: Exchange, call: Call, result: unknown): Promise<RpcReply> {
  const body = await result;
  if (isJsonObject(body) && body.error === undefined) return { status: 200, body };
  if (call.signal.reason === CLIENT_GONE) return { status: 499, body: {} };
  const thrown = call.failure ?? body;
  await reportIfRefused(exchange.deps, exchange.progress, thrown);
  return toError(exchange, thrown);
}

/** Lists the active extensions in the reply's header. */
function echoExtensions(exchange: Exchange): void {
  const active = activeExtensions(exchange);
  if (active.length === 0) return;
  exchange.reply.header(extensionsHeader(exchange), Extensions.toServiceParameter([...active]));
}
