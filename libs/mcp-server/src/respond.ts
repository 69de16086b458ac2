import type { JsonObject } from '@hermes-fleet/protocol';
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

export interface McpHandlers {
  /** Runs a listed tool. The caller sees the message of an error that it throws. */
  readonly run: (tool: string) => Promise<CallToolResult>;
}

/** Answers one message; an empty text answers a notification. */
export type McpResponder = (
  message: JsonObject,
  headers: Headers,
  handlers: McpHandlers,
) => Promise<{ readonly status: number; readonly text: string }>;

/**
 * MCP over Streamable HTTP by the official SDK, without sessions: each message has its own server and transport, and the
 * answer is JSON.
 */
export function createMcpResponder(
  info: { readonly name: string; readonly version: string },
  tools: readonly Tool[],
): McpResponder {
  // Shared: by default each server creates its own.
  const jsonSchemaValidator = new AjvJsonSchemaValidator();
  return async (message, headers, { run }) => {
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
