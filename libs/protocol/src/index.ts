export {
  type AnnounceReading,
  decodeAnnounce,
  encodeAnnounce,
  foreignAnnounce,
  McpHealth,
  readAnnounce,
  type SessionAnnounce,
  SessionAnnounceWire,
  spokenVersions,
} from './announce.ts';
export { MAX_QUESTION_CHARS, MAX_QUESTIONS } from './asking.ts';
export { type BackoffOptions, backoffMs } from './backoff.ts';
export { type Camel, camelize, snakeize } from './casing.ts';
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
} from './control/request.ts';
export {
  ControlCode,
  type ControlResponse,
  ControlResponseWire,
  ControlStatus,
  type ControlValidation,
  ControlWarning,
  encodeControlResponse,
  encodeControlResult,
} from './control/response.ts';
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
} from './dispatch.ts';
export { ERRORS, type ErrorCode, type FieldError, FleetError, type FleetErrorOptions } from './errors.ts';
export { dispatchFingerprint, fingerprint } from './fingerprint.ts';
export { isJsonObject, type JsonObject, type JsonValue } from './json.ts';
export { type HandshakeMessage, handshakeSchemas } from './json-schema.ts';
export { type JsonMember, jsonAt, jsonMembers } from './json-span.ts';
export { CloudEvent, LifecycleEvent, TERMINAL_EVENTS } from './lifecycle.ts';
export { type Log, silentLog } from './log.ts';
export { MAX_OUTPUT_SCHEMA_BYTES, outputProblems, outputSchemaProblem } from './output-schema.ts';
export { fieldErrors, fieldPath, parseMessage } from './parse.ts';
export type {
  Accepted,
  AdmittedTask,
  Budget,
  Caller,
  Clock,
  Executor,
  Ids,
  InboundMessage,
  Intake,
  ModelInfo,
  OutboxEvent,
  OutboxSource,
  Reservation,
  RunContext,
  RunEvent,
  RunOutcome,
  Scope,
  TokenEntry,
  TokenStore,
} from './ports.ts';
export { type Reading, readDispatch, versionOf, versionUnmet } from './read-dispatch.ts';
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
} from './result.ts';
export { systemClock, systemIds } from './system.ts';
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
} from './tool.ts';
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
} from './version.ts';
