import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import {
  type CallToolResult,
  createMcpHandler,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceNotFoundError,
  Server,
  type Tool,
} from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import { isOf2025, Transport2025 } from './revision-2025.ts';

/** A call of a listed tool. */
export interface McpCall {
  readonly tool: string;
  readonly input: JsonObject;
  /** Sends a progress notification; undefined if the client has not asked for them. */
  readonly progress: ((message: string) => void) | undefined;
}

/** The resources of a caller. An error that one of these throws is shown to the client. */
export interface McpResources {
  list(cursor: string | undefined): ListResourcesResult;
  templates(): ListResourceTemplatesResult;
  read(uri: string): ReadResourceResult;
}

export interface McpHandlers {
  /** Runs a listed tool. The caller sees the message of an error that it throws. */
  readonly run: (call: McpCall) => Promise<CallToolResult>;
  readonly resources?: McpResources;
}

export interface McpServerInfo {
  /** The server's name in `initialize`. */
  readonly name: string;
  readonly version: string;
  /** What a model should know about the server as a whole. */
  readonly instructions?: string;
}

/** Throws what `read` throws as an error of MCP. `uri` is what is read. */
function withCode<T>(read: () => T, uri?: string): T {
  try {
    return read();
  } catch (thrown) {
    const { code, jsonrpcCode, message } = FleetError.from(thrown);
    if (code === 'NOT_FOUND' && uri !== undefined) throw new ResourceNotFoundError(uri, message);
    throw new ProtocolError(jsonrpcCode, message, { reason: code });
  }
}

/**
 * MCP over Streamable HTTP by the official SDK, without sessions: each message has its own server and transport. Clients of
 * the revisions of 2025 and those of 2026-07-28 are served alike.
 */
export function createMcpResponder(info: McpServerInfo, tools: readonly Tool[]) {
  // Shared: by default each server creates its own.
  const jsonSchemaValidator = new AjvJsonSchemaValidator();
  const { instructions, ...implementation } = info;

  function createServer({ run, resources }: McpHandlers, sendsProgress: boolean): Server {
    const server = new Server(implementation, {
      capabilities: { tools: {}, ...(resources && { resources: {} }) },
      ...(instructions === undefined ? {} : { instructions }),
      jsonSchemaValidator,
    });
    server.setRequestHandler('tools/list', () => ({ tools: [...tools] }));
    server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => {
      const { name: tool, arguments: input } = params;
      if (!tools.some(({ name }) => name === tool))
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `there is no tool "${tool.slice(0, 100)}"; tools/list returns the available tools`,
        );
      const progressToken = sendsProgress ? mcpReq._meta?.progressToken : undefined;
      let progress = 0;
      const notify = (message: string): void => {
        if (progressToken === undefined) return;
        progress += 1;
        const params = { progressToken, progress, message };
        // A client that has left reads no progress; the call learns of it by its own signal.
        mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
      };
      return run({
        tool,
        input: isJsonObject(input) ? input : {},
        progress: progressToken === undefined ? undefined : notify,
      });
    });
    if (resources) {
      server.setRequestHandler('resources/list', ({ params }) =>
        withCode(() => resources.list(params?.cursor)),
      );
      server.setRequestHandler('resources/templates/list', () => resources.templates());
      server.setRequestHandler('resources/read', ({ params: { uri } }) =>
        withCode(() => resources.read(uri), uri),
      );
    }
    return server;
  }

  async function answer(
    server: Server,
    message: JsonObject,
    headers: Headers,
    isStream: boolean,
  ): Promise<Response> {
    // The SDK ignores the address.
    const request = new Request('http://localhost/mcp', { method: 'POST', headers });
    const options = { parsedBody: message };
    if (!isOf2025(message, headers)) {
      // Nothing here changes in a way that a client could listen to.
      const handler = createMcpHandler(() => server, {
        legacy: 'reject',
        responseMode: isStream ? 'sse' : 'auto',
        maxSubscriptions: 0,
      });
      return handler.fetch(request, options);
    }
    const transport = new Transport2025({ enableJsonResponse: !isStream });
    await server.connect(transport);
    return transport.handleRequest(request, options);
  }

  return {
    /** Answers one message with JSON, when the answer is complete; an empty text answers a notification. */
    async json(message: JsonObject, headers: Headers, handlers: McpHandlers) {
      const server = createServer(handlers, false);
      try {
        const response = await answer(server, message, headers, false);
        return { status: response.status, text: await response.text() };
      } finally {
        await server.close();
      }
    },
    /**
     * Answers one message with server-sent events: notifications while a tool runs, then its result. A message that is
     * refused has a body of JSON. The stream must be read to its end or canceled: the transport ends it with the response to the
     * call, and nothing else is open in it.
     */
    stream: (message: JsonObject, headers: Headers, handlers: McpHandlers) =>
      answer(createServer(handlers, true), message, headers, true),
  };
}
