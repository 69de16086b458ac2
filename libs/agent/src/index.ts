export { type Agent, type AgentOptions, createAgent } from './agent.ts';
export { readableDirectories } from './claude-code/create-claude-code.ts';
export { type AgentConfig, AgentConfigSchema } from './config/config.ts';
export type { Confinement, ConfinementMethod } from './confinement/confinement.ts';
export { type ConfinementOptions, createConfinement } from './confinement/create-confinement.ts';
export { type McpToolsConfig, mcpToolSource } from './tools/mcp-tools.ts';
