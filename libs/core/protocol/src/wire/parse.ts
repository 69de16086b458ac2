import type { z } from 'zod';
import { type FieldError, FleetError } from '../errors.ts';
import { isJsonObject } from './json.ts';

/** The dotted path of a zod issue: `requirements.required_mcp[0]`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : text ? `${text}.${String(part)}` : String(part),
    '',
  );
}

export function fieldErrors(error: z.ZodError): FieldError[] {
  return error.issues.map((issue) => ({ path: fieldPath(issue.path), reason: issue.message }));
}

const MAX_FIELDS = 100;

/** Parses a handshake message. Throws INVALID_PARAMS that names every invalid field, up to 100 of them. */
export function parseMessage<S extends z.ZodType>(schema: S, wire: unknown): z.output<S> {
  const parsed = schema.safeParse(wire);
  if (parsed.success) return parsed.data;
  const all = fieldErrors(parsed.error);
  const fields = all.slice(0, MAX_FIELDS);
  const type = isJsonObject(wire) && typeof wire['type'] === 'string' ? wire['type'] : 'message';
  const list = fields.map(({ path, reason }) => `${path || '(message)'}: ${reason}`).join('; ');
  const more = all.length > fields.length ? `; and ${all.length - fields.length} more` : '';
  throw new FleetError('INVALID_PARAMS', `${type} is not valid: ${list}${more}`, { fields });
}
