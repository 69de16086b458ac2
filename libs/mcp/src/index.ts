export { type McpServerConfig, McpServerConfigSchema } from './config.ts';
export type { McpTool } from './connection.ts';
export type { Health, McpToolResult } from './monitored-server.ts';
export { createMcpPool, type McpPool, type McpPoolOptions } from './pool.ts';
