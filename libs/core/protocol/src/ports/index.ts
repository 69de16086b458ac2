export {
  type ArtifactChunk,
  type ArtifactPart,
  MAX_ARTIFACT_CHUNKS,
  MAX_ARTIFACT_NAME,
  MAX_ARTIFACT_PARTS,
  MAX_ARTIFACTS,
  partBytes,
  RESERVED_ARTIFACTS,
  type TaskArtifacts,
} from './artifact.ts';
export { type Clock, systemClock } from './clock.ts';
export { createDeadlines, type Deadlines } from './deadlines.ts';
export {
  type AdmittedTask,
  type Budget,
  type EarlierConversation,
  type Executor,
  MAX_QUESTION_CHARS,
  MAX_QUESTIONS,
  type ModelInfo,
  type Reservation,
  type RunContext,
  type RunEvent,
  type RunOutcome,
} from './execution.ts';
export { type Count, LEDGER_COUNTERS, type LedgerCounter } from './figures.ts';
export { type Ids, systemIds } from './ids.ts';
export type { Accepted, Caller, InboundMessage, Intake, Scope } from './intake.ts';
export type { OutboxEvent, OutboxSource, TokenEntry, TokenStore } from './ledger.ts';
export { type Log, silentLog } from './log.ts';
export { logWith, type TaskFields, taskFields, traceField } from './log-fields.ts';
export { bareMediaType, mediaRanges } from './media-types.ts';
export {
  attachments,
  contentParts,
  encodePart,
  type FilePart,
  isHandshakeObject,
  MAX_FILES,
  MAX_PARTS,
  type MessagePart,
  mayHoldHandshake,
} from './message-parts.ts';
export type { MeasuredModel, ModelWatch } from './model-watch.ts';
export { raceSignal } from './race-signal.ts';
export type { RepoState } from './repo-state.ts';
export {
  defineTool,
  type RemoteAgents,
  type Tool,
  type ToolCall,
  type ToolDefinition,
  ToolError,
  type ToolResult,
  type ToolSource,
  toolFailure,
  toolParameters,
  withInputNotes,
} from './tool.ts';
export type { ToolInput } from './tool-input.ts';
export { failureCode, inSpan, type Span, type SpanStart, type Tracing } from './tracing.ts';
