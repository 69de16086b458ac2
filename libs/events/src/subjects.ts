import { FleetError } from '@hermes-fleet/protocol';

/** The stream of what happens: tasks first of all (design 5, Events). */
export const STREAM = 'FLEET';
export const STREAM_SUBJECTS: readonly string[] = ['fleet.task.>', 'fleet.control.>', 'fleet.audit.>'];
/** The stream of announces, apart so that heartbeats don't crowd out what happens. */
export const ANNOUNCE_STREAM = 'FLEET_ANNOUNCE';
export const ANNOUNCE_SUBJECTS: readonly string[] = ['fleet.announce.>'];

/** What both patterns match, as a pattern; undefined when that is nothing. */
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
 * The stream that holds what a filter asks for. Throws CONFIG_INVALID for a filter that no stream answers, and for one
 * that spans both: a consumer reads one stream.
 */
export function streamOf(filter: string): string {
  const [events, announces] = [within(filter, STREAM_SUBJECTS), within(filter, ANNOUNCE_SUBJECTS)];
  if (events.length > 0 && announces.length > 0) {
    throw new FleetError(
      'CONFIG_INVALID',
      `the filter ${filter} spans two streams: use one consumer on ${STREAM} (${events.join(' or ')}) and one on ${ANNOUNCE_STREAM} (${announces.join(' or ')})`,
    );
  }
  if (events.length > 0) return STREAM;
  if (announces.length > 0) return ANNOUNCE_STREAM;
  throw new FleetError(
    'CONFIG_INVALID',
    `no stream holds what the filter ${JSON.stringify(filter)} asks for: use one below ${[...STREAM_SUBJECTS, ...ANNOUNCE_SUBJECTS].join(', ')}`,
  );
}
