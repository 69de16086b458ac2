export {
  type AnnounceReading,
  type AnnounceView,
  announceView,
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
  undecodedView,
} from './announce.ts';
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
export { handshakeSchemas } from './json-schema.ts';
export { outputProblems } from './output-schema.ts';
export { type Reading, readDispatch, versionOf, versionUnmet } from './read-dispatch.ts';
export { readResult } from './read-result.ts';
export {
  type Condition,
  conditionsOf,
  MET,
  type RequirementField,
  type Requirements,
  RequirementsWire,
  requirementsEvent,
  unmet,
  unmetOfEach,
  type WorkerFacts,
  windowForBrief,
} from './requirements.ts';
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
