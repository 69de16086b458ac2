import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { type Range, rangeOf } from '../read-model/ranges.ts';

/** Reads a query or a body. Throws INVALID_PARAMS with every wrong field. */
export function readInput<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const read = schema.safeParse(value ?? {});
  if (read.success) return read.data;
  const fields = read.error.issues.map(({ path, message }) => ({ path: path.join('.'), reason: message }));
  const first = fields[0];
  throw new FleetError('INVALID_PARAMS', `${first?.path ?? ''}: ${first?.reason ?? 'not valid'}`, { fields });
}

/** A query parameter that is a time. */
export const time = z.iso.datetime({ offset: true, error: 'must be a time, such as 2026-01-31T12:00:00Z' });

/** The span of time that a view shows. */
export const RANGE_QUERY = { since: time.optional(), until: time.optional() };

export function rangeIn(
  { since, until }: { readonly since?: string | undefined; readonly until?: string | undefined },
  clock: Pick<Clock, 'now'>,
): Range {
  const ms = (text: string | undefined): number | undefined =>
    text === undefined ? undefined : Date.parse(text);
  return rangeOf(clock.now(), ms(since), ms(until));
}

export const sumOf = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0);
