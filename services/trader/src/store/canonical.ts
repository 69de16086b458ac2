import { createHash, hash } from 'node:crypto';
import { FleetError, isJsonObject, type JsonValue } from '@hermes-fleet/protocol';

/** What the first record continues. */
export const GENESIS = '0'.repeat(64);

/**
 * The RFC 8785 form of a JSON value. Half of a surrogate pair, for which there is none, stands as the escape that
 * `JSON.stringify` gives it: a payload may hold one, and the audit keeps it as it came.
 */
export function canonical(value: JsonValue): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (isJsonObject(value)) {
    let members = '';
    for (const name of Object.keys(value).sort())
      members += `${members === '' ? '' : ','}${quoted(name)}:${canonical(value[name] ?? null)}`;
    return `{${members}}`;
  }
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new FleetError('INTERNAL', `${value} has no form in JSON, and so none in the audit`);
  return JSON.stringify(value);
}

/** Printable ASCII that JSON escapes nothing of, as almost every name and value here is. */
const PLAIN = /^[ !#-[\]-~]*$/;

const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));

/** The hash of a record behind the one that `previous` is the hash of (design 4, State). */
export const linked = (previous: string, record: string | Uint8Array): string =>
  typeof record === 'string'
    ? hash('sha256', previous + record)
    : createHash('sha256').update(previous).update(record).digest('hex');
