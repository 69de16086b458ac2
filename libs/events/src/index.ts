export type { BusConnection } from './connection.ts';
export { type ConsumeOptions, consume, type EventMeta } from './consume.ts';
export { createDeduplicator, type Deduplicator } from './deduplicator.ts';
export { type NatsConfigOptions, type NatsUser, renderNatsConfig } from './nats-config.ts';
export { type BusPermissions, busPermissions, inboxPrefix } from './permissions.ts';
export { type Relay, type RelayOptions, startRelay } from './relay.ts';
export {
  DUPLICATE_WINDOW_MS,
  STREAM,
  STREAM_SUBJECTS,
  type StreamSetup,
  setUpStreams,
  supportsSyncInterval,
} from './stream.ts';
export type { BusState } from './supervise.ts';
