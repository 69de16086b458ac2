import { FleetError, fieldPath } from '@hermes-fleet/protocol';
import type { z } from 'zod';

/** Reads what a caller has sent. Throws INVALID_PARAMS that names every wrong field; `what` is what is not valid then. */
export function readInput<S extends z.ZodType>(what: string, schema: S, input: unknown): z.output<S> {
  const read = schema.safeParse(input);
  if (read.success) return read.data;
  const fields = read.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ path: fieldPath([...issue.path, key]), reason: 'is not known here' }))
      : [{ path: fieldPath(issue.path), reason: issue.message }],
  );
  const list = fields.map(({ path, reason }) => (path === '' ? reason : `${path}: ${reason}`)).join('; ');
  throw new FleetError('INVALID_PARAMS', `${what} not valid: ${list}`, { fields });
}
