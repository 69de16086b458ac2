import { FleetError, fieldErrors } from '@hermes-fleet/protocol';
import type { z } from 'zod';

/** Parses what a caller sent. Throws an INVALID_PARAMS that begins with `what` ("the body is") and names every wrong field. */
export function parseInput<S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const fields = fieldErrors(parsed.error);
  const list = fields.map(({ path, reason }) => `${path || '(all)'}: ${reason}`).join('; ');
  throw new FleetError('INVALID_PARAMS', `${what} not valid: ${list}`, { fields });
}
