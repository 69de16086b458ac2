import { DiscardPolicy, nanos, type StreamConfig } from 'nats';
import {
  ANNOUNCE_STREAM,
  ANNOUNCE_SUBJECTS,
  AUDIT_STREAM,
  AUDIT_SUBJECTS,
  STREAM,
  STREAM_SUBJECTS,
} from './subjects.ts';

/** The time for which the server recognizes event ids in `FLEET` and drops duplicates. */
export const DUPLICATE_WINDOW_MS = 2 * 60 * 60 * 1000;

const EVENT_MAX_BYTES = 1024 ** 3;
const EVENT_MAX_AGE_MS = 30 * 24 * 60 * 60 * 1000;

/** An announce that was lost with its connection is resent within seconds; a later one has another id. */
const ANNOUNCE_DUPLICATE_WINDOW_MS = 2 * 60 * 1000;
const ANNOUNCE_MAX_AGE_MS = 24 * 60 * 60 * 1000;
const ANNOUNCE_MAX_BYTES = 64 * 1024 ** 2;
const ANNOUNCES_PER_PROFILE = 100;

/** Enough for the heads of several hundred services at about 400 bytes each. */
const AUDIT_MAX_BYTES = 1024 ** 2;
const AUDIT_MAX_HEAD_BYTES = 4 * 1024;
const AUDIT_DUPLICATE_WINDOW_MS = 2 * 60 * 1000;

/** The settings that set-up controls; all others belong to the operator. */
export type WantedStream = Partial<StreamConfig> & Pick<StreamConfig, 'name'>;

/** `FLEET`, with limits by size and age. */
export const eventStream = (): WantedStream => ({
  name: STREAM,
  subjects: [...STREAM_SUBJECTS],
  max_bytes: EVENT_MAX_BYTES,
  max_age: nanos(EVENT_MAX_AGE_MS),
  duplicate_window: nanos(DUPLICATE_WINDOW_MS),
  discard: DiscardPolicy.Old,
  allow_direct: true,
});

/** `FLEET_ANNOUNCE`, with a limit per profile: the heartbeats of one do not evict the announces of others. */
export const announceStream = (): WantedStream => ({
  name: ANNOUNCE_STREAM,
  subjects: [...ANNOUNCE_SUBJECTS],
  max_msgs_per_subject: ANNOUNCES_PER_PROFILE,
  max_bytes: ANNOUNCE_MAX_BYTES,
  max_age: nanos(ANNOUNCE_MAX_AGE_MS),
  duplicate_window: nanos(ANNOUNCE_DUPLICATE_WINDOW_MS),
  discard: DiscardPolicy.Old,
  allow_direct: true,
});

/** `FLEET_AUDIT`: the newest head of each service, at any age. */
export const auditStream = (): WantedStream => ({
  name: AUDIT_STREAM,
  subjects: [...AUDIT_SUBJECTS],
  max_msgs_per_subject: 1,
  max_msg_size: AUDIT_MAX_HEAD_BYTES,
  max_bytes: AUDIT_MAX_BYTES,
  max_age: 0,
  duplicate_window: nanos(AUDIT_DUPLICATE_WINDOW_MS),
  discard: DiscardPolicy.Old,
  allow_direct: true,
});
