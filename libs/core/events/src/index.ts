export { type AnnounceBus, startAnnounceBus } from './announces/announce-bus.ts';
export { ANNOUNCE_TYPE } from './announces/announce-event.ts';
export { HEAD_TYPE, type Head } from './audit-heads/head-event.ts';
export { type HeadPublisher, startHeadPublisher } from './audit-heads/head-publisher.ts';
export { type ForgetOutcome, type FoundHead, forgetHead, readHead } from './audit-heads/stored-head.ts';
export type { BusConnection } from './connection/connection.ts';
export { consume, type StreamPosition } from './consume/consume.ts';
export type { EventMeta, StreamFacts } from './consume/consumer-session.ts';
export {
  createOutboxPublisher,
  type OutboxPublisher,
  type PublisherState,
} from './outbox/outbox-publisher.ts';
export { type Refilled, refill } from './refill/refill.ts';
export type { Acknowledged } from './refill/stream-gap.ts';
export { renderClusterConfig } from './streams/cluster-config.ts';
export { type NatsTls, renderNatsConfig } from './streams/nats-config.ts';
export {
  type BusPermissions,
  busPermissions,
  consumerOf,
  inboxPrefix,
  readerPermissions,
  refillReader,
} from './streams/permissions.ts';
export { readStreams } from './streams/read-streams.ts';
export { setUpStreams, supportsSyncInterval } from './streams/set-up-streams.ts';
export {
  ANNOUNCE_STREAM,
  ANNOUNCE_SUBJECTS,
  AUDIT_STREAM,
  AUDIT_SUBJECTS,
  STREAM,
  STREAM_SUBJECTS,
} from './streams/subjects.ts';
