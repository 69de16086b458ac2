import { FleetError } from '@hermes-fleet/protocol';
import type { z } from 'zod';

/** Reads a query or a body. Throws INVALID_PARAMS with every wrong field. */
export function readInput<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const read = schema.safeParse(value ?? {});
  if (read.success) return read.data;
  const fields = read.error.issues.map(({ path, message }) => ({ path: path.join('.'), reason: message }));
  const first = fields[0];
  throw new FleetError('INVALID_PARAMS', `${first?.path ?? ''}: ${first?.reason ?? 'not valid'}`, { fields });
}
