import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListResourcesRequestSchema,
  type ListResourcesResult,
  ListResourceTemplatesRequestSchema,
  type ListResourceTemplatesResult,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type ReadResourceResult,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';

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

export interface McpResponder {
  /** Answers one message with JSON, when the answer is complete; an empty text answers a notification. */
  json(
    message: JsonObject,
    headers: Headers,
    handlers: McpHandlers,
  ): Promise<{ readonly status: number; readonly text: string }>;
  /**
   * Answers one message with server-sent events: notifications while a tool runs, then its result. A message that is
   * refused has a body of JSON. The stream must be read to its end or canceled.
   */
  stream(message: JsonObject, headers: Headers, handlers: McpHandlers): Promise<Response>;
}

/** The code of a resource that does not exist (https://modelcontextprotocol.io/specification/2025-11-25/server/resources). */
const RESOURCE_NOT_FOUND = -32002;

/** Throws what `read` throws as an error of MCP. */
function withCode<T>(read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    const { code, jsonrpcCode, message } = FleetError.from(thrown);
    throw new McpError(code === 'NOT_FOUND' ? RESOURCE_NOT_FOUND : jsonrpcCode, message, { reason: code });
  }
}

/** MCP over Streamable HTTP by the official SDK, without sessions: each message has its own server and transport. */
export function createMcpResponder(info: McpServerInfo, tools: readonly Tool[]): McpResponder {
  // Shared: by default each server creates its own.
  const jsonSchemaValidator = new AjvJsonSchemaValidator();
  const { instructions, ...implementation } = info;

  function createServer({ run, resources }: McpHandlers): Server {
    const server = new Server(implementation, {
      capabilities: { tools: {}, ...(resources && { resources: {} }) },
      ...(instructions === undefined ? {} : { instructions }),
      jsonSchemaValidator,
    });
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...tools] }));
    server.setRequestHandler(CallToolRequestSchema, ({ params }, { sendNotification, _meta }) => {
      const { name: tool, arguments: input } = params;
      if (!tools.some(({ name }) => name === tool))
        throw new McpError(
          ErrorCode.InvalidParams,
          `there is no tool "${tool.slice(0, 100)}"; tools/list returns the available tools`,
        );
      const progressToken = _meta?.progressToken;
      let progress = 0;
      const notify = (message: string): void => {
        if (progressToken === undefined) return;
        progress += 1;
        const params = { progressToken, progress, message };
        // A client that has left reads no progress; the call learns of it by its own signal.
        sendNotification({ method: 'notifications/progress', params }).catch(() => undefined);
      };
      return run({
        tool,
        input: isJsonObject(input) ? input : {},
        progress: progressToken === undefined ? undefined : notify,
      });
    });
    if (resources) {
      server.setRequestHandler(ListResourcesRequestSchema, ({ params }) =>
        withCode(() => resources.list(params?.cursor)),
      );
      server.setRequestHandler(ListResourceTemplatesRequestSchema, () => resources.templates());
      server.setRequestHandler(ReadResourceRequestSchema, ({ params }) =>
        withCode(() => resources.read(params.uri)),
      );
    }
    return server;
  }

  async function answer(
    server: Server,
    message: JsonObject,
    headers: Headers,
    enableJsonResponse: boolean,
  ): Promise<Response> {
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse });
    await server.connect(transport);
    // The SDK ignores the address.
    const request = new Request('http://localhost/mcp', { method: 'POST', headers });
    return transport.handleRequest(request, { parsedBody: message });
  }

  return {
    async json(message, headers, handlers) {
      const server = createServer(handlers);
      try {
        const response = await answer(server, message, headers, true);
        return { status: response.status, text: await response.text() };
      } finally {
        await server.close();
      }
    },
    // The transport ends its stream with the response to the call, and nothing else is open in it.
    stream: (message, headers, handlers) => answer(createServer(handlers), message, headers, false),
  };
}
