export { backoffMs } from './backoff.ts';
export { ERRORS, type ErrorCode, type FieldError, FleetError, invalidParams } from './errors.ts';
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
export {
  A2A_STATES,
  type A2AState,
  CloudEvent,
  CONSOLE_STATES,
  ConsoleState,
  type EndEvent,
  hasEnded,
  isA2AState,
  isAsking,
  LifecycleEvent,
  type ResultStatus,
  SCHEDULING_STATES,
  type SchedulingState,
  TASK_EVENTS,
  TASK_STATES,
  TaskState,
  TERMINAL_EVENTS,
} from './lifecycle.ts';
export { networkFault } from './network-fault.ts';
export { camelize, snakeize } from './wire/casing.ts';
export { nameInUrl, numbered, safeName } from './wire/file-name.ts';
export { dispatchFingerprint, fingerprint } from './wire/fingerprint.ts';
export { definedFields, isJsonObject, type JsonObject, type JsonValue, parseJson } from './wire/json.ts';
export { type JsonMember, jsonAt, jsonMembers } from './wire/json-text.ts';
export { mediaTypeOfName } from './wire/media-types.ts';
export { isNestedDeeper, MAX_NESTING } from './wire/nesting.ts';
export { fieldErrors, fieldPath } from './wire/parse.ts';
export {
  answerVersion,
  HANDSHAKE_EXTENSION,
  HANDSHAKE_MEDIA_TYPE,
  highestOf,
  majorOf,
  negotiate,
  PROTOCOL_VERSION,
  PROTOCOL_VERSIONS,
} from './wire/version.ts';
