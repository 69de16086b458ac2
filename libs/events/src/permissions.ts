import { FleetError } from '@hermes-fleet/protocol';
import { STREAM } from './stream.ts';

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
 * The least that a profile's relay needs: to publish its own events, to get the acknowledgements, and to read back
 * the last of its own messages (design 5, Containers). Not enough to read another profile's events or to touch the
 * stream. Throws CONFIG_INVALID for a name that would widen a subject.
 */
export function busPermissions(profile: string): BusPermissions {
  const inbox = inboxPrefix(profile);
  const own = [`fleet.task.${profile}.>`, `fleet.announce.${profile}`];
  return {
    publish: [...own, ...own.map((subject) => `$JS.API.DIRECT.GET.${STREAM}.${subject}`)],
    subscribe: [`${inbox}.>`],
  };
}
