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
export * from './dispatch.ts';
export { handshakeSchemas } from './json-schema.ts';
export { outputProblems } from './output-schema.ts';
export { readResult } from './read-result.ts';
export * from './requirements.ts';
export * from './result.ts';
