export type { CallToolResult, Tool } from '@modelcontextprotocol/server';
export { type ForwardStdioOptions, forwardStdio } from './forward-stdio.ts';
export { type McpOrigin, type McpRouteOptions, registerMcpRoute } from './mcp-route.ts';
export { type McpScopeOptions, registerMcpScope } from './mcp-scope.ts';
export { CALL_CANCELED, CALLER_GONE, SERVER_CLOSING } from './open-calls.ts';
export type { ProtectedResource } from './protected-resource.ts';
export { messageId, readMcpMessage } from './read-message.ts';
export {
  createMcpResponder,
  type McpCall,
  type McpHandlers,
  type McpResources,
  type McpResponder,
  type McpServerInfo,
} from './respond.ts';
export { errorText, sendText, sentHeaders } from './wire.ts';
