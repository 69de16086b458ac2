import { FleetError } from '@hermes-fleet/protocol';
import { AUDIT_STREAM, auditSubject, isSubjectName, STREAM, streamOf } from './subjects.ts';

/** The subjects that a NATS user may publish and subscribe to; the server refuses all others. */
export interface BusPermissions {
  readonly publish: string[];
  readonly subscribe: string[];
}

const TRADER_EVENTS = ['fleet.control.>', 'fleet.trade.>'];
const streamInfo = (stream: string): string => `$JS.API.STREAM.INFO.${stream}`;

/** The name of a service as a reader beside the one that runs. No service has a name with `_`. */
export const refillReader = (service: string): string => `${service}_refill`;

/** The inbox prefix of a service's user, for `inboxPrefix` of its connections. */
export function inboxPrefix(profile: string): string {
  if (isSubjectName(profile)) return `_INBOX_${profile}`;
  throw new FleetError(
    'CONFIG_INVALID',
    `profile name ${JSON.stringify(profile)} cannot be part of a NATS subject: use letters, digits, "-" and "_"`,
  );
}

/**
 * The least privileges of a profile (docs/events.md#users): publish its own events and announces, receive
 * acknowledgements, read back its own events through consumers of fixed names, see the state of their stream, and receive
 * the announces of others. With `control`, for the trader
 * alone: also publish control and trade events and its own audit head, and read back the last of each. They do not permit reading
 * other profiles' events or changing a stream. A user may direct a read-back reply at another's subject, but the server
 * marks it (see isForwarded) and readers drop it; acknowledgements directed there are not events and hold no data of the
 * user. Throws CONFIG_INVALID for a name that would widen a subject.
 */
export function busPermissions(name: string, options: { readonly control?: boolean } = {}): BusPermissions {
  const inbox = inboxPrefix(name);
  const [events, head] = [`fleet.task.${name}.>`, auditSubject(name)];
  const directGet = (stream: string, subject: string): string => `$JS.API.DIRECT.GET.${stream}.${subject}`;
  const readBack = (filters: readonly string[]): string[] =>
    [name, refillReader(name)].flatMap((reader) => consumerSubjects(reader, filters));
  const control = [
    ...TRADER_EVENTS.flatMap((events) => [events, directGet(STREAM, events)]),
    ...[head, directGet(AUDIT_STREAM, head)],
    ...readBack(TRADER_EVENTS),
  ];
  return {
    publish: [
      ...[events, `fleet.announce.${name}`, directGet(STREAM, events)],
      ...[streamInfo(STREAM), ...readBack([events])],
      ...(options.control === true ? control : []),
    ],
    subscribe: [`${inbox}.>`, 'fleet.announce.>'],
  };
}

/** The name of a reader's own consumer for a filter, such as `console-task` for `fleet.task.>`. */
export const consumerOf = (reader: string, filter: string): string => `${reader}-${filter.split('.')[1]}`;

/** What a reader asks of its consumers, one for each filter. */
const consumerSubjects = (reader: string, filters: readonly string[]): string[] =>
  filters.flatMap((filter) => {
    const own = `${streamOf(filter)}.${consumerOf(reader, filter)}`;
    return [
      `$JS.API.CONSUMER.CREATE.${own}.${filter}`,
      `$JS.API.CONSUMER.DELETE.${own}`,
      `$JS.API.CONSUMER.MSG.NEXT.${own}`,
    ];
  });

/**
 * The least privileges of a user that only reads (docs/events.md#users): for each filter the state of its stream, and one
 * consumer, whose name and filter are fixed (consumerOf). It can publish no event, change no stream, read no single message,
 * and reach no consumer of others. Throws CONFIG_INVALID for a name that would widen a subject.
 */
export function readerPermissions(reader: string, filters: readonly string[]): BusPermissions {
  const inbox = inboxPrefix(reader);
  const publish = [
    ...filters.map((filter) => streamInfo(streamOf(filter))),
    ...consumerSubjects(reader, filters),
  ];
  return { publish: [...new Set(publish)], subscribe: [`${inbox}.>`] };
}
