export {
  type Agent,
  type AgentOptions,
  type ConversationLead,
  createAgent,
  type LeadProvider,
} from './agent.ts';
export type { AgentContexts } from './agent-contexts.ts';
export {
  type AgentConfig,
  AgentConfigSchema,
  confinementSettings,
  fallbackConfigs,
  isContextPlaceholder,
} from './config/config.ts';
export { parseModelName } from './config/model-name.ts';
export { MAX_OUTPUT_BYTES } from './guards/compact.ts';
export { doneSoFar } from './guards/evidence.ts';
export { createGuards, withNotes } from './guards/guards.ts';
export { createLoopConversation, FOLLOW_UP_TOKENS } from './loop/loop-conversation.ts';
export { createTextReporter, type TextReporter } from './loop/text-reporter.ts';
export { toolContext } from './loop/tool-context.ts';
export { loggable } from './messages/redact.ts';
export { cut } from './messages/text.ts';
export { learnWindow } from './model/ask-window.ts';
export { callUsage, meteredInputTokens } from './model/call-usage.ts';
export { type AgentModel, createModel } from './model/create-model.ts';
export { MIN_OUTPUT_TOKENS } from './model/model-call.ts';
export type { ModelCallEnd, ModelCalls } from './model/model-calls.ts';
export { createModelMonitor, type ModelMonitor } from './model/model-monitor.ts';
export { createModelMonitors } from './model/model-monitors.ts';
export { createModelWindow, type ModelWindow } from './model/model-window.ts';
export { createOutputCap } from './model/output-cap.ts';
export { type ProbedModel, probedModel, probeModel } from './model/probe-model.ts';
export { anthropicAddress, modelKey } from './model/provider-address.ts';
export { providerFailure } from './model/provider-failure.ts';
export { testCall } from './model/test-call.ts';
export type {
  AgentTool,
  Conversation,
  ConversationOptions,
  CreateConversation,
  RunResources,
  ToolContext,
} from './run/conversation.ts';
export { newGuardState } from './run/guard-state.ts';
export type { GuardedCall, Guards } from './run/guards.ts';
export { type ClaudeSessionState, forgetCall, type StartedCall } from './run/run-state.ts';
export { fileTools } from './tools/file-tools.ts';
export { listFilesTool } from './tools/list-files.ts';
export { type McpToolsConfig, mcpToolSource } from './tools/mcp-tools.ts';
export { SCRATCH, scratchDir } from './tools/scratchpad.ts';
