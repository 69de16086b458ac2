export { type AnnounceBus, type AnnounceBusOptions, startAnnounceBus } from './announces/announce-bus.ts';
export { ANNOUNCE_TYPE, type Announced } from './announces/announce-event.ts';
export { type ForgetOutcome, type FoundHead, forgetHead } from './audit-heads/forget-head.ts';
export { HEAD_TYPE, type Head } from './audit-heads/head-event.ts';
export {
  type HeadPublisher,
  type HeadPublisherOptions,
  type HeadState,
  startHeadPublisher,
} from './audit-heads/head-publisher.ts';
export { readHead } from './audit-heads/read-head.ts';
export type { BusConnection } from './connection/connection.ts';
export type { BusState } from './connection/supervise.ts';
export { type ConsumeOptions, consume, type StreamPosition } from './consume/consume.ts';
export type { EventMeta, StreamFacts } from './consume/consumer-session.ts';
export { createDeduplicator, type Deduplicator } from './consume/deduplicator.ts';
export {
  createOutboxPublisher,
  type OutboxPublisher,
  type OutboxPublisherOptions,
  type PublisherState,
} from './outbox/outbox-publisher.ts';
export { REFILLED, type Refilled, type RefillOptions, refill } from './refill/refill.ts';
export type { Acknowledged } from './refill/stream-gap.ts';
export { type ClusterConfigOptions, renderClusterConfig } from './streams/cluster-config.ts';
export {
  type NatsConfigOptions,
  type NatsTls,
  type NatsUser,
  renderNatsConfig,
} from './streams/nats-config.ts';
export {
  type BusPermissions,
  busPermissions,
  consumerOf,
  inboxPrefix,
  readerPermissions,
  refillReader,
} from './streams/permissions.ts';
export { type ReadableStream, readStreams } from './streams/read-streams.ts';
export {
  type StreamOutcome,
  type StreamSetup,
  setUpStreams,
  supportsSyncInterval,
} from './streams/set-up-streams.ts';
export { DUPLICATE_WINDOW_MS } from './streams/stream-config.ts';
export {
  ANNOUNCE_STREAM,
  ANNOUNCE_SUBJECTS,
  AUDIT_STREAM,
  AUDIT_SUBJECTS,
  STREAM,
  STREAM_SUBJECTS,
} from './streams/subjects.ts';
