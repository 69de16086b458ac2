import {
  type CallToolResult,
  createMcpResponder,
  errorText,
  registerMcpScope,
  sendText,
  sentHeaders,
} from '@hermes-fleet/mcp/server';
import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { encodeControlResponse } from '@hermes-fleet/protocol/control';
import type { Caller } from '@hermes-fleet/protocol/ports';
import { continueTrace, isAnonymous, translateError } from '@hermes-fleet/service';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DECIDE, READ } from '../control/access.ts';
import type { Attempt, DecisionService } from '../control/decision-service.ts';
import { type McpBody, readMcpBody, type ToolCall } from './mcp-body.ts';
import { DECIDE_TOOL, LIST_TOOL, mcpTools } from './mcp-tools.ts';
import { codeOf } from './refusals.ts';

export interface McpTransportOptions {
  readonly decisions: DecisionService;
  /** The server's name in `initialize`. */
  readonly name: string;
  readonly version: string;
  /** The URL at which the trader is reached through a proxy. */
  readonly publicUrl?: string | undefined;
}

/**
 * Registers POST /mcp in its own scope: the trader's methods as MCP tools (docs/trader.md#transports). The SDK handles the
 * protocol but sees no arguments; the decision service gets them as received. Refused attempts are audited before they are
 * answered. A caller needs `trader:read` or `trader:decide`. Requests of foreign web pages are refused even with a token.
 */
export function registerMcp(
  app: FastifyInstance,
  { decisions, publicUrl, ...info }: McpTransportOptions,
): void {
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
      const answered = await speak.json(message, sentHeaders(request), {
        run: async ({ tool }) => {
          attempt = undefined;
          return run(tool, request, body?.call);
        },
      });
      if (attempt !== undefined) await decisions.refuse(attempt, 'invalid_payload', refusalIn(answered));
      return sendText(reply, answered.status, answered.text);
    } catch (thrown) {
      const error = translateError(thrown, request, reply);
      if (attempt !== undefined) await refuse(attempt, error);
      return sendText(reply, error.httpStatus, errorText(body?.id ?? null, error));
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

  registerMcpScope(app, {
    resource: { name: info.name, scopes: [READ, DECIDE], publicUrl },
    answer,
    async onRefused(request, error) {
      if (!isAnonymous(request.caller)) await refuse(attemptOf(request, null), error);
    },
  });
}

function requireAny(caller: Caller, scopes: readonly string[]): void {
  if (scopes.some((scope) => caller.scopes.has(scope))) return;
  throw new FleetError('FORBIDDEN', `caller "${caller.name}" needs the scope ${scopes.join(' or ')}`);
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
