export { type Agent, createAgent, type OutsideTools } from './agent.ts';
export {
  type AgentConfig,
  AgentConfigSchema,
  configSchemaFor,
  confinementSettings,
  fallbackConfigs,
  isContextPlaceholder,
} from './config/config-yaml.ts';
export type { ExecutorKind } from './config/executor-rules.ts';
export { parseModelName } from './config/model-name.ts';
export { createModelWindow } from './config/model-window.ts';
export { findPackage, type OptionalPackage } from './config/optional-package.ts';
export { anthropicAddress, modelKey } from './config/provider-address.ts';
export { remoteOf, repositoryProblems, withFilesIn } from './config/repositories.ts';
export { nameProblems, SharedRepositories } from './config/repository-config.ts';
export { checkSigningKey, exposedKey } from './config/signing-key.ts';
export { createCallTokens } from './conversation/call-tokens.ts';
export { MAX_CALLS, SURPLUS } from './conversation/limited-calls.ts';
export { createLoopConversation, FOLLOW_UP_TOKENS } from './conversation/loop-conversation.ts';
export { createTextReporter, type TextReporter } from './conversation/text-reporter.ts';
export { toolContext } from './conversation/tool-context.ts';
export { loopExecutor } from './executor/loop-executor.ts';
export { doneSoFar } from './guards/evidence.ts';
export { conversationGuards, withNotes } from './guards/guards.ts';
export type { FileLimits } from './inbox/read-files.ts';
export { loggable } from './messages/redact.ts';
export { cut } from './messages/text.ts';
export { DEFAULT_PATIENCE } from './model/call/agent-model.ts';
export { type CallFigures, callUsage, meteredInputTokens } from './model/call/call-usage.ts';
export { type MeasuredCall, timeCall } from './model/call/measured-call.ts';
export { MIN_OUTPUT_TOKENS } from './model/call/model-call.ts';
export { type ModelCallEnd, unansweredEnd } from './model/call/model-calls.ts';
export { createOutputCap } from './model/call/output-cap.ts';
export { SilenceError, silenceFailure, watchSilence } from './model/call/silence.ts';
export { type AgentModel, createModel } from './model/create-model.ts';
export { learnWindow } from './model/probe/ask-window.ts';
export { createModelMonitor, createModelMonitors, type ModelMonitor } from './model/probe/model-monitor.ts';
export { type ProbedModel, probedModel, probeModel } from './model/probe/probe-model.ts';
export { providerFailure, redirectFailure, redirectIn } from './model/provider/provider-failure.ts';
export { providerFetch } from './model/provider/provider-fetch.ts';
export { type AllowedNetwork, openConfiguredNetwork } from './network/allowed-network.ts';
export type {
  AgentTool,
  Conversation,
  ConversationOptions,
  CreateConversation,
  RunResources,
  ToolContext,
} from './run/conversation.ts';
export type { ExecutorProvider, Runtime } from './run/executor-provider.ts';
export type { GuardedCall, Guards } from './run/guards.ts';
export { forgetCall, type SessionState, type StartedCall } from './run/run-state.ts';
export { createSerialQueue } from './run/serial-queue.ts';
export { inModelSpan, inToolSpan, type ModelSpanParts } from './run/spans.ts';
export { testCall } from './test-call.ts';
export { createMcpTools, type McpTools } from './tools/mcp-tools.ts';
export { SCRATCH, scratchDir } from './tools/scratchpad.ts';
