import { createHash, hash } from 'node:crypto';
import { FleetError, type JsonValue } from '@hermes-fleet/protocol';

/** The hash before the first record. */
export const GENESIS = '0'.repeat(64);

/**
 * The RFC 8785 form of a JSON value. RFC 8785 excludes lone surrogates, but a payload may hold one and the audit records
 * it unchanged: it becomes the escape that `JSON.stringify` writes. A value whose names are in order at every level costs
 * least, because `JSON.stringify` writes it whole. Throws INTERNAL for a number without a JSON form.
 */
export const canonical = (value: JsonValue): string =>
  isInOrder(value) ? JSON.stringify(value) : reordered(value);

/** True if `JSON.stringify` writes the canonical form. */
function isInOrder(value: JsonValue | undefined): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object') return value !== undefined;
  if (value === null) return true;
  if (Array.isArray(value)) return value.every(isInOrder);
  let previous: string | undefined;
  for (const name of Object.keys(value)) {
    if ((previous !== undefined && previous > name) || !isInOrder(value[name])) return false;
    previous = name;
  }
  return true;
}

function reordered(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(reordered).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const names = Object.keys(value).sort();
    return `{${names.map((name) => `${JSON.stringify(name)}:${reordered(value[name] ?? null)}`).join(',')}}`;
  }
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new FleetError('INTERNAL', `${value} cannot be written as JSON, so it cannot be audited`);
  return JSON.stringify(value);
}

/** The hash of a record that follows the record with the hash `previous` (docs/trader.md#audit). */
export const chainHash = (previous: string, record: string | Uint8Array): string =>
  typeof record === 'string'
    ? hash('sha256', previous + record)
    : createHash('sha256').update(previous).update(record).digest('hex');
