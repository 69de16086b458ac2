import { FleetError, isJsonObject, type JsonValue } from '@hermes-fleet/protocol';
import { json, type Row } from '@hermes-fleet/store';
import type { StoredPart } from './types.ts';

/** The column `parts` of a chunk; its row is one that `writeParts` made. */
export function readParts(row: Row): StoredPart[] {
  const { parts } = json(row, 'parts');
  if (!Array.isArray(parts)) throw damaged();
  return parts.map(readPart);
}

export const writeParts = (parts: readonly StoredPart[]): string => JSON.stringify({ parts });

function readPart(part: JsonValue): StoredPart {
  if (!isJsonObject(part)) throw damaged();
  const { kind, data } = part;
  const isReferenced = part.isReferenced === true ? { isReferenced: true } : {};
  const mediaType = optional('mediaType', part.mediaType);
  const name = optional('name', part.name);
  switch (kind) {
    case 'text':
      return { kind, text: required(part.text), ...mediaType, ...isReferenced };
    case 'data':
      return { kind, data: data ?? null, ...mediaType, ...isReferenced };
    case 'file':
      return { kind, base64: required(part.base64), ...name, ...mediaType, ...isReferenced };
    case 'link':
      return { kind, url: required(part.url), ...name, ...mediaType };
    default:
      throw damaged();
  }
}

function required(value: JsonValue | undefined): string {
  if (typeof value !== 'string') throw damaged();
  return value;
}

function optional<K extends string>(key: K, value: JsonValue | undefined): Partial<Record<K, string>> {
  if (typeof value !== 'string') return {};
  const given: Partial<Record<K, string>> = {};
  given[key] = value;
  return given;
}

function damaged(): FleetError {
  return new FleetError(
    'STORE_UNAVAILABLE',
    'the ledger has an artifact with unreadable "parts"; restore the file from a backup',
  );
}
