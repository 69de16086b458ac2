import { FleetError } from '@hermes-fleet/protocol';
import { AUDIT_STREAM, auditSubject, isSubjectName, STREAM } from './subjects.ts';

/** What a NATS user may publish and subscribe to; everything else is refused. */
export interface BusPermissions {
  readonly publish: string[];
  readonly subscribe: string[];
}

const CONTROL_EVENTS = 'fleet.control.>';

/** The inbox prefix of a service's user: pass it as `inboxPrefix` of its connections. */
export function inboxPrefix(profile: string): string {
  if (isSubjectName(profile)) return `_INBOX_${profile}`;
  throw new FleetError(
    'CONFIG_INVALID',
    `profile name ${JSON.stringify(profile)} cannot be part of a NATS subject: use letters, digits, "-" and "_"`,
  );
}

/**
 * The least that a profile needs: to publish its own events and announces, to get the acknowledgements, to read back
 * the last of its own events, and to hear what others announce (design 5, Containers). With `control`, which is for the
 * trader alone, also to publish control events and the head of its own audit, and to read back the last of each. Not
 * enough to read another's events or to touch a stream. What it reads back it may direct at another subject, but not
 * without the server's mark on it (see isForwarded), by which our readers know it. The server's acknowledgements it may
 * direct there as well: they hold nothing of its own, and are no events. Throws CONFIG_INVALID for a name that would
 * widen a subject.
 */
export function busPermissions(name: string, o: { readonly control?: boolean } = {}): BusPermissions {
  const inbox = inboxPrefix(name);
  const [events, head] = [`fleet.task.${name}.>`, auditSubject(name)];
  const directGet = (stream: string, subject: string): string => `$JS.API.DIRECT.GET.${stream}.${subject}`;
  const control = [
    ...[CONTROL_EVENTS, directGet(STREAM, CONTROL_EVENTS)],
    ...[head, directGet(AUDIT_STREAM, head)],
  ];
  return {
    publish: [
      ...[events, `fleet.announce.${name}`, directGet(STREAM, events)],
      ...(o.control === true ? control : []),
    ],
    subscribe: [`${inbox}.>`, 'fleet.announce.>'],
  };
}
