import { FleetError } from '@hermes-fleet/protocol';

/** The stream of task, control and trade events (docs/events.md#the-streams). */
export const STREAM = 'FLEET';
export const STREAM_SUBJECTS: readonly string[] = ['fleet.task.>', 'fleet.control.>', 'fleet.trade.>'];
/** The stream of announces, separate so that heartbeats do not evict events. */
export const ANNOUNCE_STREAM = 'FLEET_ANNOUNCE';
export const ANNOUNCE_SUBJECTS: readonly string[] = ['fleet.announce.>'];
/** The stream of audit heads: keeps the newest head of each service, so that a truncated audit is detected. */
export const AUDIT_STREAM = 'FLEET_AUDIT';
export const AUDIT_SUBJECTS: readonly string[] = ['fleet.audit.>'];

const SUBJECT_TOKEN = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;

/** True for a name that is exactly one token of a NATS subject. */
export const isSubjectName = (name: string): boolean => SUBJECT_TOKEN.test(name);

/** The subject of a service's audit head. NATS permits only that service's user to publish on it. */
export const auditSubject = (service: string): string => `fleet.audit.${service}`;

const STREAMS: readonly (readonly [name: string, subjects: readonly string[]])[] = [
  [STREAM, STREAM_SUBJECTS],
  [ANNOUNCE_STREAM, ANNOUNCE_SUBJECTS],
  [AUDIT_STREAM, AUDIT_SUBJECTS],
];

/** The pattern of the subjects that both patterns match; undefined when there are none. */
function intersection(a: string, b: string): string | undefined {
  const [left, right] = [a.split('.'), b.split('.')];
  const common: string[] = [];
  for (let at = 0; at < left.length || at < right.length; at += 1) {
    const [x, y] = [left[at], right[at]];
    if (x === undefined || y === undefined) return undefined;
    if (x === '>') return [...common, ...right.slice(at)].join('.');
    if (y === '>') return [...common, ...left.slice(at)].join('.');
    if (x !== y && x !== '*' && y !== '*') return undefined;
    common.push(x === '*' ? y : x);
  }
  return common.join('.');
}

const within = (filter: string, subjects: readonly string[]): string[] =>
  subjects.flatMap((subject) => intersection(filter, subject) ?? []);

/**
 * The stream whose subjects a filter matches. Throws CONFIG_INVALID for a filter that matches no stream or several: a
 * consumer reads one stream.
 */
export function streamOf(filter: string): string {
  const found = STREAMS.map(([name, subjects]) => ({ name, filters: within(filter, subjects) })).filter(
    ({ filters }) => filters.length > 0,
  );
  const [first] = found;
  if (first === undefined) {
    throw new FleetError(
      'CONFIG_INVALID',
      `no stream holds what the filter ${JSON.stringify(filter)} asks for: use one below ${STREAMS.flatMap(([, subjects]) => subjects).join(', ')}`,
    );
  }
  if (found.length === 1) return first.name;
  const each = found.map(({ name, filters }) => `${name} (${filters.join(' or ')})`);
  throw new FleetError(
    'CONFIG_INVALID',
    `the filter ${filter} spans several streams: use a consumer each on ${each.join(', ')}`,
  );
}
