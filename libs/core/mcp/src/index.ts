export { isTaskServer, type McpServerConfig, McpServerConfigSchema } from './config.ts';
export type { McpTool } from './connection.ts';
export { createMcpPool, type McpPool, type McpPoolOptions } from './pool.ts';
export { replaceMissing } from './shipped-servers.ts';
