export { type BackoffOptions, backoffMs } from './backoff.ts';
export { type ControlMessage, controlSchemas } from './control/json-schema.ts';
export {
  encodeStrategyDetail,
  encodeStrategyList,
  GetStrategyParams,
  ListStrategiesParams,
  type StrategyDetail,
  StrategyDetailWire,
  type StrategyList,
  StrategyListWire,
  StrategyStatus,
} from './control/reads.ts';
export {
  ControlAction,
  type ControlDecision,
  ControlDecisionWire,
  type ControlReading,
  controlFingerprint,
  MAX_REASON_CHARS,
  RiskMode,
  readControlDecision,
  type SometimesUsed,
} from './control/request.ts';
export {
  ControlCode,
  type ControlResponse,
  ControlResponseWire,
  ControlStatus,
  type ControlValidation,
  ControlWarning,
  encodeControlResponse,
} from './control/response.ts';
export { ERRORS, type ErrorCode, type FieldError, FleetError, type FleetErrorOptions } from './errors.ts';
export {
  type AnnounceReading,
  decodeAnnounce,
  encodeAnnounce,
  foreignAnnounce,
  instanceTime,
  McpHealth,
  ModelHealth,
  readAnnounce,
  type SessionAnnounce,
  SessionAnnounceWire,
  spokenVersions,
} from './handshake/announce.ts';
export {
  decodeDispatch,
  encodeDispatch,
  isWriteTask,
  MAX_PATH,
  OnBlocked,
  Priority,
  ReplySchema,
  type TaskDispatch,
  TaskDispatchWire,
} from './handshake/dispatch.ts';
export { type HandshakeMessage, handshakeSchemas } from './handshake/json-schema.ts';
export { MAX_OUTPUT_SCHEMA_BYTES, outputProblems, outputSchemaProblem } from './handshake/output-schema.ts';
export { type Reading, readDispatch, versionOf, versionUnmet } from './handshake/read-dispatch.ts';
export { type ResultReading, readResult } from './handshake/read-result.ts';
export {
  type Attempt,
  type AttemptConsidered,
  bareResult,
  decodeResult,
  type Evidence,
  encodeResult,
  ResultStatus,
  type TaskResult,
  TaskResultWire,
  type Unmet,
  UnmetKind,
  type Usage,
} from './handshake/result.ts';
export {
  CHALLENGE_PATH,
  isSameProof,
  JOIN_PATH,
  JOIN_TOKEN_PREFIX,
  JoinChallenge,
  JoinOffer,
  JoinProof,
  JoinRequest,
  joinProof,
  MEMBERSHIP_PATH,
  Membership,
} from './join/join.ts';
export { CloudEvent, LifecycleEvent, TERMINAL_EVENTS } from './lifecycle.ts';
export { networkFault } from './network-fault.ts';
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
} from './ports/artifact.ts';
export { type Clock, systemClock } from './ports/clock.ts';
export { createDeadlines, type Deadlines } from './ports/deadlines.ts';
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
} from './ports/execution.ts';
export type { Count, LedgerCounter } from './ports/figures.ts';
export { type Ids, systemIds } from './ports/ids.ts';
export type { Accepted, Caller, InboundMessage, Intake, Scope } from './ports/intake.ts';
export type { OutboxEvent, OutboxSource, TokenEntry, TokenStore } from './ports/ledger.ts';
export { type Log, silentLog } from './ports/log.ts';
export { logWith, type TaskFields, taskFields, traceField } from './ports/log-fields.ts';
export { bareMediaType, mediaRanges } from './ports/media-types.ts';
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
} from './ports/message-parts.ts';
export type { MeasuredModel, ModelWatch } from './ports/model-watch.ts';
export type { RepoState } from './ports/repo-state.ts';
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
} from './ports/tool.ts';
export { readToolInput, type ToolInput } from './ports/tool-input.ts';
export {
  failureCode,
  inSpan,
  type Span,
  type SpanAttributes,
  type SpanStart,
  type Tracing,
} from './ports/tracing.ts';
export { type Camel, camelize, snakeize } from './wire/casing.ts';
export { nameInUrl, numbered, safeName } from './wire/file-name.ts';
export { dispatchFingerprint, fingerprint } from './wire/fingerprint.ts';
export { isJsonObject, type JsonObject, type JsonValue } from './wire/json.ts';
export { type JsonMember, jsonAt, jsonMembers } from './wire/json-text.ts';
export { mediaTypeOfName } from './wire/media-types.ts';
export { isNestedDeeper, MAX_NESTING } from './wire/nesting.ts';
export { fieldErrors, fieldPath, parseMessage } from './wire/parse.ts';
export {
  answerVersion,
  HANDSHAKE_EXTENSION,
  HANDSHAKE_MEDIA_TYPE,
  highestOf,
  isCompatible,
  isNewerMinor,
  majorOf,
  negotiate,
  PROTOCOL_VERSION,
  PROTOCOL_VERSIONS,
} from './wire/version.ts';
