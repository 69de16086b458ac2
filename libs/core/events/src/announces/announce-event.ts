import { CloudEvent, type JsonObject, parseJson } from '@hermes-fleet/protocol';

export const ANNOUNCE_TYPE = 'dev.hermes-fleet.announce.session.v1';
const SUBJECT_PREFIX = 'fleet.announce.';

/** The subject of a profile's announces. NATS permits only that profile's user to publish on it. */
export const announceSubject = (profile: string): string => `${SUBJECT_PREFIX}${profile}`;

/** The profile that announces on this subject; undefined for other subjects. */
export function announcerOf(subject: string): string | undefined {
  const name = subject.startsWith(SUBJECT_PREFIX) ? subject.slice(SUBJECT_PREFIX.length) : '';
  return /^[^.\s]+$/.test(name) ? name : undefined;
}

/** A SESSION_ANNOUNCE and the fields of its event id (docs/events.md#announces). */
export interface Announced {
  /** The message as wire JSON. */
  readonly announce: JsonObject;
  readonly instanceId: string;
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Wraps an announce in a CloudEvent; its id stays the same when it is sent again. */
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

/** Reads the announce from a NATS message; undefined for any other message. */
export function readAnnounceEvent(text: string): JsonObject | undefined {
  const event = CloudEvent.safeParse(parseJson(text)).data;
  return event?.type === ANNOUNCE_TYPE ? (event.data as JsonObject) : undefined;
}
