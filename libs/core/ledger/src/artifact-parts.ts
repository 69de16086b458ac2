import { FleetError, isJsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { ArtifactPart } from '@hermes-fleet/protocol/ports';
import { json, type Row } from '@hermes-fleet/store';
import type { ReferencedPart, StoredPart } from './artifact-types.ts';

/** The column `parts` of a chunk; its row is one that `writeParts` made. */
export function readParts(row: Row): StoredPart[] {
  const { parts } = json(row, 'parts');
  if (!Array.isArray(parts)) throw damaged();
  return parts.map(readPart);
}

export const writeParts = (parts: readonly StoredPart[]): string => JSON.stringify({ parts });

type WithContent = Exclude<ArtifactPart, { kind: 'link' }>;

/** A part without its content. */
export function referenceTo(part: WithContent): ReferencedPart {
  const name = part.kind === 'file' ? optional('name', part.name) : {};
  return { kind: part.kind, ...name, ...optional('mediaType', part.mediaType), isReferenced: true };
}

/** The content of a part as JSON, which keeps every string as it is. */
export function writeContent(part: WithContent): string {
  if (part.kind === 'text') return JSON.stringify({ content: part.text });
  return JSON.stringify({ content: part.kind === 'data' ? part.data : part.base64 });
}

/** A part with its content, whose row is one that `writeContent` made. */
export function withContent({ kind, name, mediaType }: ReferencedPart, row: Row): ArtifactPart {
  const { content } = json(row, 'content');
  const typed = optional('mediaType', mediaType);
  if (kind === 'text') return { kind, text: required(content), ...typed };
  if (kind === 'data') return { kind, data: content ?? null, ...typed };
  return { kind, base64: required(content), ...optional('name', name), ...typed };
}

function readPart(part: JsonValue): StoredPart {
  if (!isJsonObject(part)) throw damaged();
  const { kind, data } = part;
  const mediaType = optional('mediaType', part.mediaType);
  const name = optional('name', part.name);
  if (part.isReferenced === true && (kind === 'text' || kind === 'data' || kind === 'file'))
    return { kind, ...name, ...mediaType, isReferenced: true };
  switch (kind) {
    case 'text':
      return { kind, text: required(part.text), ...mediaType };
    case 'data':
      return { kind, data: data ?? null, ...mediaType };
    case 'file':
      return { kind, base64: required(part.base64), ...name, ...mediaType };
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

export function damaged(): FleetError {
  return new FleetError(
    'STORE_UNAVAILABLE',
    'the ledger has an artifact with unreadable "parts"; restore the file from a backup',
  );
}
