import { CloudEvent, type JsonObject } from '@hermes-fleet/protocol';

export const ANNOUNCE_TYPE = 'dev.hermes-fleet.announce.session.v1';
const SUBJECT_PREFIX = 'fleet.announce.';

/** Where a profile's announces go, and nobody else's: NATS lets its own user alone publish there. */
export const announceSubject = (profile: string): string => `${SUBJECT_PREFIX}${profile}`;

/** Who announces on this subject; undefined for a subject that is none of an announce. */
export function announcerOf(subject: string): string | undefined {
  const name = subject.startsWith(SUBJECT_PREFIX) ? subject.slice(SUBJECT_PREFIX.length) : '';
  return /^[^.\s]+$/.test(name) ? name : undefined;
}

/** A SESSION_ANNOUNCE as it stands on NATS, and what tells it from others (docs/events.md). */
export interface Announced {
  /** The message as wire JSON. */
  readonly announce: JsonObject;
  readonly instanceId: string;
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** The event of an announce; its id is the same however often it is sent. */
export function announceEvent(profile: string, { announce, instanceId, seq, at }: Announced): CloudEvent {
  return {
    specversion: '1.0',
    id: `${profile}:${instanceId}:${seq}`,
    source: `/profiles/${profile}`,
    type: ANNOUNCE_TYPE,
    subject: profile,
    time: new Date(at).toISOString(),
    datacontenttype: 'application/json',
    data: announce,
  };
}

/** The announce in a message on NATS; undefined for anything else. */
export function readAnnounceEvent(text: string): JsonObject | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  const event = CloudEvent.safeParse(json).data;
  return event?.type === ANNOUNCE_TYPE ? (event.data as JsonObject) : undefined;
}
