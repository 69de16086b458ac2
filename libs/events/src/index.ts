export { type AnnounceBus, type AnnounceBusOptions, startAnnounceBus } from './announce-bus.ts';
export { ANNOUNCE_TYPE, type Announced } from './announce-event.ts';
export type { BusConnection } from './connection.ts';
export { type ConsumeOptions, consume, type EventMeta } from './consume.ts';
export { createDeduplicator, type Deduplicator } from './deduplicator.ts';
export { type ForgetOutcome, type FoundHead, forgetHead } from './forget-head.ts';
export { HEAD_TYPE, type Head } from './head-event.ts';
export {
  type HeadPublisher,
  type HeadPublisherOptions,
  type HeadState,
  startHeadPublisher,
} from './head-publisher.ts';
export { type NatsConfigOptions, type NatsUser, renderNatsConfig } from './nats-config.ts';
export { type BusPermissions, busPermissions, inboxPrefix } from './permissions.ts';
export { readHead } from './read-head.ts';
export { type Relay, type RelayOptions, startRelay } from './relay.ts';
export {
  type StreamOutcome,
  type StreamSetup,
  setUpStreams,
  supportsSyncInterval,
} from './stream.ts';
export { DUPLICATE_WINDOW_MS } from './stream-config.ts';
export {
  ANNOUNCE_STREAM,
  ANNOUNCE_SUBJECTS,
  AUDIT_STREAM,
  AUDIT_SUBJECTS,
  STREAM,
  STREAM_SUBJECTS,
} from './subjects.ts';
export type { BusState } from './supervise.ts';
