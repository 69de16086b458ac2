export { backoffMs } from './backoff.ts';
export { ERRORS, type ErrorCode, type FieldError, FleetError, invalidParams, systemCode } from './errors.ts';
export * from './join/join.ts';
export { networkFault } from './network-fault.ts';
export * from './task-states-and-events.ts';
export { camelize, snakeize } from './wire/casing.ts';
export { nameInUrl, numbered, safeName } from './wire/file-name.ts';
export { dispatchFingerprint, fingerprint } from './wire/fingerprint.ts';
export * from './wire/json.ts';
export { type JsonMember, jsonAt, jsonMembers } from './wire/json-text.ts';
export { mediaTypeOfName } from './wire/media-types.ts';
export { isNestedDeeper, MAX_NESTING } from './wire/nesting.ts';
export { fieldErrors, fieldPath } from './wire/parse.ts';
export { cutTo, shownName } from './wire/shown-name.ts';
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
