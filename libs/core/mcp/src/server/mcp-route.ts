import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { Caller, Ids } from '@hermes-fleet/protocol/ports';
import { checkNesting, translateError } from '@hermes-fleet/service';
import type { Tool } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ProtectedResource, registerMcpScope } from './mcp-scope.ts';
import { CALL_CANCELED, CALLER_GONE, OpenCalls } from './open-calls.ts';
import { createMcpResponder, type McpHandlers, type McpServerInfo } from './respond.ts';
import { isOf2025 } from './revision-2025.ts';
import { errorText, messageId, readMcpMessage, sendText, sentHeaders } from './wire.ts';

/** Who sends a request, and until when an answer is of use. */
export interface McpOrigin {
  readonly caller: Caller;
  readonly traceparent: string;
  /** Aborts with one of the reasons of an open call. */
  readonly signal: AbortSignal;
}

export interface McpRouteOptions {
  readonly info: McpServerInfo;
  readonly tools: readonly Tool[];
  /** The handlers for one request. */
  readonly handlers: (origin: McpOrigin) => McpHandlers;
  readonly resource: ProtectedResource;
  readonly maxCallsPerCaller: number;
  readonly ids: Ids;
}

/** A signal for messages that are answered at once. */
const NEVER = new AbortController().signal;

const MAX_SESSION_CHARS = 256;

/**
 * Serves MCP at POST /mcp (Streamable HTTP, https://modelcontextprotocol.io/specification/2026-07-28/basic/transports), for
 * clients of the revisions of 2025, too. Tool calls are answered by a stream, everything else by JSON. The server keeps no
 * sessions: the `Mcp-Session-Id` that `initialize` returns tells the clients of one caller apart when one of them cancels a
 * call. A client of 2025 that disconnects does not cancel its call; a newer one does so by disconnecting. Closing the app
 * ends the wait of every call.
 */
export function registerMcpRoute(app: FastifyInstance, options: McpRouteOptions): void {
  const { handlers, ids } = options;
  const responder = createMcpResponder(options.info, options.tools);
  const calls = new OpenCalls(options.maxCallsPerCaller);

  async function answer(request: FastifyRequest, reply: FastifyReply, text: string): Promise<FastifyReply> {
    let message: JsonObject = {};
    try {
      message = readMcpMessage(text);
      checkNesting(message);
      if (message.method === 'tools/call') return await stream(request, reply, message);
      // A newer client cancels by disconnecting, and has no session that tells its calls from those of others.
      if (message.method === 'notifications/cancelled' && isOf2025(message, sentHeaders(request)))
        cancel(request, message);
      const { status, text: body } = await responder.json(
        message,
        sentHeaders(request),
        handlers(originOf(request, NEVER)),
      );
      if (message.method === 'initialize' && status === 200) reply.header('mcp-session-id', ids.uuid());
      return sendText(reply, status, body);
    } catch (thrown) {
      const error = translateError(thrown, request, reply);
      return sendText(reply, error.httpStatus, errorText(messageId(message.id), error));
    }
  }

  function cancel(request: FastifyRequest, { params }: JsonObject): void {
    const id = isJsonObject(params) ? messageId(params.requestId) : null;
    if (id !== null) calls.cancel(nameOf(request, id));
  }

  async function stream(
    request: FastifyRequest,
    reply: FastifyReply,
    message: JsonObject,
  ): Promise<FastifyReply> {
    const { raw } = reply;
    const headers = sentHeaders(request);
    const call = calls.openCall(nameOf(request, messageId(message.id)));
    const end = (): void => {
      // A reply closes when it is complete, too.
      if (!raw.writableFinished) call.abort(isOf2025(message, headers) ? CALLER_GONE : CALL_CANCELED);
      call[Symbol.dispose]();
    };
    if (raw.closed) end();
    else raw.once('close', end);
    try {
      const { signal } = call;
      const response = await responder.stream(message, headers, handlers(originOf(request, signal)));
      if (response.body === null || !isEventStream(response))
        return sendText(reply, response.status, await response.text());
      reply.code(response.status).headers({
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
      });
      const body = Readable.fromWeb(begun(response.body) as ReadableStream<Uint8Array>);
      return reply.send(body);
    } catch (thrown) {
      call[Symbol.dispose]();
      throw thrown;
    }
  }

  registerMcpScope(app, {
    answer,
    onClosing: () => calls.close(),
    resource: options.resource,
  });
}

/** The stream after a comment: without a first byte, the client would not get the headers before the first event. */
function begun(events: NonNullable<Response['body']>): NonNullable<Response['body']> {
  const comment = new TextEncoder().encode(': open\n\n');
  return events.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({ start: (controller) => controller.enqueue(comment) }),
  );
}

const isEventStream = ({ headers }: Response): boolean =>
  headers.get('content-type')?.startsWith('text/event-stream') === true;

function originOf({ caller, trace }: FastifyRequest, signal: AbortSignal): McpOrigin {
  return { caller, traceparent: trace.traceparent, signal };
}

function nameOf({ caller, headers }: FastifyRequest, id: string | number | null) {
  const session = headers['mcp-session-id'];
  return {
    caller: caller.name,
    session: typeof session === 'string' ? session.slice(0, MAX_SESSION_CHARS) : undefined,
    id,
  };
}
