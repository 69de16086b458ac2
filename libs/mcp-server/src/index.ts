export type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
export { registerMcpScope } from './mcp-scope.ts';
export { createMcpResponder, type McpHandlers, type McpResponder } from './respond.ts';
export { errorText, sendText, sentHeaders } from './wire.ts';
