export type { McpToolResult } from './call-tool.ts';
export { isTaskServer, type McpServerConfig, McpServerConfigSchema } from './config.ts';
export type { McpTool } from './connection.ts';
export type { Health } from './monitored-server.ts';
export { createMcpPool, type McpPool, type McpPoolOptions } from './pool.ts';
export type { ServerPlace, Supervise } from './supervision.ts';
export type { TaskPlace } from './task-servers.ts';
