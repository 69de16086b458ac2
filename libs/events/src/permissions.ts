import { FleetError } from '@hermes-fleet/protocol';
import { STREAM } from './subjects.ts';

/** What a NATS user may publish and subscribe to; everything else is refused. */
export interface BusPermissions {
  readonly publish: string[];
  readonly subscribe: string[];
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;

/** The inbox prefix of a profile's user: pass it as `inboxPrefix` of its connections. */
export function inboxPrefix(profile: string): string {
  if (NAME.test(profile)) return `_INBOX_${profile}`;
  throw new FleetError(
    'CONFIG_INVALID',
    `profile name ${JSON.stringify(profile)} cannot be part of a NATS subject: use letters, digits, "-" and "_"`,
  );
}

/**
 * The least that a profile needs: to publish its own events and announces, to get the acknowledgements, to read back
 * the last of its own events, and to hear what others announce (design 5, Containers). Not enough to read another
 * profile's events or to touch a stream. What it reads back it may direct at another subject, but not without the
 * server's mark on it (see isForwarded), by which our readers know it. The server's acknowledgements it may direct there
 * as well: they hold nothing of its own, and are no events. Throws CONFIG_INVALID for a name that would widen a subject.
 */
export function busPermissions(profile: string): BusPermissions {
  const inbox = inboxPrefix(profile);
  const events = `fleet.task.${profile}.>`;
  return {
    publish: [events, `fleet.announce.${profile}`, `$JS.API.DIRECT.GET.${STREAM}.${events}`],
    subscribe: [`${inbox}.>`, 'fleet.announce.>'],
  };
}
