export type { CallToolResult, Tool } from '@modelcontextprotocol/server';
export { forwardStdio } from './forward-stdio.ts';
export { type McpOrigin, registerMcpRoute } from './mcp-route.ts';
export { registerMcpScope } from './mcp-scope.ts';
export { CALL_CANCELED } from './open-calls.ts';
export { createMcpResponder, type McpCall, type McpHandlers, type McpResources } from './respond.ts';
export { errorText, messageId, readMcpMessage, sendText, sentHeaders } from './wire.ts';
