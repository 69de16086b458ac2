import { DiscardPolicy, nanos, type StreamConfig } from 'nats';
import {
  ANNOUNCE_STREAM,
  ANNOUNCE_SUBJECTS,
  AUDIT_STREAM,
  AUDIT_SUBJECTS,
  STREAM,
  STREAM_SUBJECTS,
} from './subjects.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The time for which the server recognizes event ids in `FLEET` and drops duplicates. */
export const DUPLICATE_WINDOW_MS = 2 * HOUR_MS;

/** The settings that set-up controls; all others belong to the operator. */
export type WantedStream = Partial<StreamConfig> & Pick<StreamConfig, 'name'>;

const SHARED = { discard: DiscardPolicy.Old, allow_direct: true };

/** The streams that set-up makes, `FLEET` first. */
export const WANTED_STREAMS: readonly WantedStream[] = [
  {
    ...SHARED,
    name: STREAM,
    subjects: [...STREAM_SUBJECTS],
    max_bytes: 1024 ** 3,
    max_age: nanos(30 * 24 * HOUR_MS),
    duplicate_window: nanos(DUPLICATE_WINDOW_MS),
  },
  {
    ...SHARED,
    name: ANNOUNCE_STREAM,
    subjects: [...ANNOUNCE_SUBJECTS],
    // The heartbeats of one profile do not evict the announces of others.
    max_msgs_per_subject: 100,
    max_bytes: 64 * 1024 ** 2,
    max_age: nanos(24 * HOUR_MS),
    // An announce that was lost with its connection is resent within seconds; a later one has another id.
    duplicate_window: nanos(2 * MINUTE_MS),
  },
  {
    ...SHARED,
    name: AUDIT_STREAM,
    subjects: [...AUDIT_SUBJECTS],
    // The newest head of each service, at any age: room for several hundred services at about 400 bytes each.
    max_msgs_per_subject: 1,
    max_msg_size: 4 * 1024,
    max_bytes: 1024 ** 2,
    max_age: 0,
    duplicate_window: nanos(2 * MINUTE_MS),
  },
];
