export {
  type Agent,
  type AgentOptions,
  type ConversationLead,
  createAgent,
  type LeadProvider,
} from './agent.ts';
export { type AgentConfig, AgentConfigSchema } from './config/config.ts';
export { parseModelName } from './config/model-name.ts';
export { MAX_OUTPUT_BYTES } from './guards/compact.ts';
export { doneSoFar } from './guards/evidence.ts';
export { createGuards, withNotes } from './guards/guards.ts';
export { loggable } from './guards/redact.ts';
export { createLoopConversation, FOLLOW_UP_TOKENS } from './loop/conversation.ts';
export { MIN_OUTPUT_TOKENS } from './loop/model-step.ts';
export { createOutputCap } from './loop/output-cap.ts';
export { callUsage, meteredInputTokens } from './loop/settlement.ts';
export { createTextReporter, type TextReporter } from './loop/text-reporter.ts';
export { toolContext } from './loop/tool-context.ts';
export { cut } from './messages/text.ts';
export { type AgentModel, anthropicAddress, createModel, modelKey } from './model/create-model.ts';
export { providerFailure } from './model/provider-failure.ts';
export type {
  AgentTool,
  Conversation,
  ConversationOptions,
  RunResources,
  ToolContext,
} from './run/conversation.ts';
export { newGuardState } from './run/guard-state.ts';
export type { GuardedCall, Guards } from './run/guards.ts';
export type { ClaudeSessionState, StartedCall } from './run/session-state.ts';
export { fileTools } from './tools/file-tools.ts';
export { listFilesTool } from './tools/list-files.ts';
export { type McpToolsConfig, mcpToolSource } from './tools/mcp-tools.ts';
export { SCRATCH, scratchDir } from './tools/scratchpad.ts';
