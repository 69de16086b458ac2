import { createHash, hash } from 'node:crypto';
import { FleetError, type JsonValue } from '@hermes-fleet/protocol';

/** The hash before the first record. */
export const GENESIS = '0'.repeat(64);

/** A part of a value whose canonical form is known already. */
export class Canonical {
  readonly text: string;

  constructor(value: JsonValue) {
    this.text = canonical(value);
  }
}

/** A JSON object, of which some members may be in canonical form already. */
export type CanonicalObject = { readonly [name: string]: JsonValue | Canonical };

/**
 * The RFC 8785 form of a JSON value. RFC 8785 excludes lone surrogates, but a payload may hold one and the audit records
 * it unchanged: it becomes the escape that `JSON.stringify` writes.
 */
export function canonical(value: JsonValue | CanonicalObject | Canonical): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[${value.map(canonical).join(',')}]`;
  if (value instanceof Canonical) return value.text;
  if (typeof value === 'object' && value !== null) {
    let members = '';
    for (const name of inOrder(Object.keys(value)))
      members += `${members === '' ? '' : ','}${quoted(name)}:${canonical(value[name] ?? null)}`;
    return `{${members}}`;
  }
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new FleetError('INTERNAL', `${value} cannot be written as JSON, so it cannot be audited`);
  return JSON.stringify(value);
}

/** Sorts names by UTF-16 code units. Most are in order already. */
function inOrder(names: string[]): string[] {
  for (let at = 1; at < names.length; at += 1)
    if ((names[at - 1] ?? '') > (names[at] ?? '')) return names.sort();
  return names;
}

/** Printable ASCII without JSON escapes: a fast path for almost all names and values. */
const PLAIN = /^[ !#-[\]-~]*$/;

const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));

/** The hash of a record that follows the record with the hash `previous` (docs/trader.md#audit). */
export const chainHash = (previous: string, record: string | Uint8Array): string =>
  typeof record === 'string'
    ? hash('sha256', previous + record)
    : createHash('sha256').update(previous).update(record).digest('hex');
