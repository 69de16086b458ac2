import { bodyText } from '@hermes-fleet/a2a';
import {
  type Caller,
  encodeControlResponse,
  FleetError,
  isJsonObject,
  type JsonObject,
} from '@hermes-fleet/protocol';
import { continueTrace, isAnonymous, translateError } from '@hermes-fleet/service';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DECIDE, READ } from '../control/access.ts';
import type { Attempt } from '../control/attempt.ts';
import type { DecisionService } from '../control/decision-service.ts';
import { type McpBody, readMcpBody, type ToolCall } from './mcp-body.ts';
import { DECIDE_TOOL, LIST_TOOL, mcpTools } from './mcp-tools.ts';
import { codeOf } from './refusals.ts';

export interface McpTransportOptions {
  readonly decisions: DecisionService;
  /** The server's name in `initialize`. */
  readonly name: string;
  readonly version: string;
}

/**
 * Registers POST /mcp in its own scope: the trader's methods as MCP tools (docs/trader.md#transports). The SDK handles the
 * protocol but sees no arguments; the decision service gets them as received. Refused attempts are audited before they are
 * answered. A caller needs `trader:read` or `trader:decide`. Requests of foreign web pages are refused even with a token.
 */
export function registerMcp(app: FastifyInstance, { decisions, ...info }: McpTransportOptions): void {
  const speak = createMcpResponder(info, mcpTools());

  /** An attempt in the trace of its call if that names one: the calls of several tasks may share a connection. */
  function attemptOf({ caller, trace }: FastifyRequest, text: string | null, call?: ToolCall): Attempt {
    const { onBehalfOf, traceparent: ofCall } = call ?? {};
    const { traceparent } = ofCall === undefined ? trace : continueTrace(ofCall);
    return {
      transport: 'mcp',
      caller,
      text,
      traceparent,
      ...(onBehalfOf === undefined ? {} : { onBehalfOf }),
    };
  }

  const refuse = (attempt: Attempt, error: FleetError) =>
    decisions.refuse(attempt, codeOf(error), error.message);

  async function answer(request: FastifyRequest, reply: FastifyReply, text: string): Promise<FastifyReply> {
    let body: McpBody | undefined;
    /** The attempt to audit on a refusal; undefined once the decision service has it, and for other messages. */
    let attempt: Attempt | undefined = attemptOf(request, text);
    try {
      body = readMcpBody(text);
      const { message, call, isAttempt } = body;
      attempt = isAttempt ? attemptOf(request, call?.argumentsText ?? text, call) : undefined;
      requireAny(request.caller, [READ, DECIDE]);
      const answered = await speak(message, headersOf(request), async (tool) => {
        attempt = undefined;
        return run(tool, request, body?.call);
      });
      if (attempt !== undefined) await decisions.refuse(attempt, 'invalid_payload', refusalIn(answered));
      return send(reply, answered.status, answered.text);
    } catch (thrown) {
      const error = translateError(thrown, request, reply);
      if (attempt !== undefined) await refuse(attempt, error);
      return send(reply, error.httpStatus, errorText(body?.id ?? null, error));
    }
  }

  async function run(tool: string, request: FastifyRequest, call: McpBody['call']): Promise<CallToolResult> {
    const { caller } = request;
    if (tool === DECIDE_TOOL) {
      const attempt = attemptOf(request, call?.argumentsText ?? '', call);
      const { response } = await decisions.decide(attempt);
      return {
        ...result(encodeControlResponse(response)),
        ...(response.status === 'failed' && { isError: true }),
      };
    }
    try {
      const filter = call?.argumentsText ?? '{}';
      return result(tool === LIST_TOOL ? decisions.list(caller, filter) : decisions.get(caller, filter));
    } catch (thrown) {
      const error = FleetError.from(thrown);
      request.failure = error;
      return { content: [{ type: 'text', text: error.message }], isError: true };
    }
  }

  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      'application/json',
      { parseAs: 'buffer' },
      async (_request: unknown, body: Buffer) => bodyText(body),
    );
    scope.setErrorHandler(async (thrown, request, reply) => {
      const error = translateError(thrown, request, reply);
      if (!isAnonymous(request.caller)) await refuse(attemptOf(request, null), error);
      return send(reply, error.httpStatus, errorText(null, error));
    });
    scope.post('/mcp', { config: { ownHostsOnly: true } }, (request, reply) =>
      answer(request, reply, typeof request.body === 'string' ? request.body : ''),
    );
  });
}

function requireAny(caller: Caller, scopes: readonly string[]): void {
  if (scopes.some((scope) => caller.scopes.has(scope))) return;
  throw new FleetError('FORBIDDEN', `caller "${caller.name}" lacks the scopes ${scopes.join(' and ')}`);
}

/** The headers that the SDK reads. */
function headersOf({ headers }: FastifyRequest): Headers {
  const kept = new Headers();
  for (const name of ['accept', 'content-type', 'mcp-protocol-version']) {
    const value = headers[name];
    if (value !== undefined) kept.set(name, String(value));
  }
  return kept;
}

function result(output: JsonObject): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: output };
}

/** Why the SDK did not run a call. An empty body answers a message without an id. */
function refusalIn({ text }: { readonly text: string }): string {
  if (text === '') return 'the call has no id and was not executed';
  const answer: unknown = JSON.parse(text);
  const error = isJsonObject(answer) && isJsonObject(answer.error) ? answer.error : {};
  return `the call was refused: ${String(error.message)}`;
}

function errorText(
  id: string | number | null,
  { jsonrpcCode: code, code: reason, message }: FleetError,
): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data: { reason } } });
}

function send(reply: FastifyReply, status: number, text: string): FastifyReply {
  reply.code(status);
  return text === '' ? reply.send() : reply.type('application/json; charset=utf-8').send(text);
}

/** Answers one message; `run` is called for a listed tool. */
type McpResponder = (
  message: JsonObject,
  headers: Headers,
  run: (tool: string) => Promise<CallToolResult>,
) => Promise<{ readonly status: number; readonly text: string }>;

/**
 * MCP over Streamable HTTP by the official SDK, without sessions: each message has its own server and transport, and the
 * answer is JSON. The caller sees the message of an error that `run` throws.
 */
function createMcpResponder(info: { name: string; version: string }, tools: readonly Tool[]): McpResponder {
  // Shared: by default each server creates its own.
  const jsonSchemaValidator = new AjvJsonSchemaValidator();
  return async (message, headers, run) => {
    const server = new Server(info, { capabilities: { tools: {} }, jsonSchemaValidator });
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...tools] }));
    server.setRequestHandler(CallToolRequestSchema, ({ params: { name } }) => {
      if (tools.some((tool) => tool.name === name)) return run(name);
      throw new McpError(
        ErrorCode.InvalidParams,
        `there is no tool "${name.slice(0, 100)}"; tools/list returns the available tools`,
      );
    });
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    try {
      await server.connect(transport);
      // The SDK ignores the address.
      const request = new Request('http://localhost/mcp', { method: 'POST', headers });
      const response = await transport.handleRequest(request, { parsedBody: message });
      return { status: response.status, text: await response.text() };
    } finally {
      await server.close();
    }
  };
}
