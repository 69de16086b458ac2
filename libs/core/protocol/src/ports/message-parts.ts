import { definedFields, isJsonObject, type JsonObject, type JsonValue, parseJson } from '../wire/json.ts';
import { bareMediaType } from '../wire/media-types.ts';
import { HANDSHAKE_MEDIA_TYPE } from '../wire/version.ts';

/** The maximum number of parts of a message, and of files among them (docs/handshake.md#data-and-files). */
export const MAX_PARTS = 256;
export const MAX_FILES = 32;

interface PartFields {
  /** The position in the message, from 0. */
  readonly index: number;
  /** As the sender wrote it. */
  readonly mediaType?: string;
  readonly metadata?: JsonObject;
}

/** A part of an A2A message. */
export type MessagePart =
  | (PartFields & { readonly kind: 'text'; readonly text: string })
  | (PartFields & { readonly kind: 'data'; readonly data: JsonValue })
  | FilePart;

/** A file: its bytes in base64, or the address to read them from. The name is the sender's, and may be any text. */
export type FilePart = PartFields & { readonly kind: 'file'; readonly filename?: string } & (
    | { readonly bytes: string; readonly url?: undefined }
    | { readonly url: string; readonly bytes?: undefined }
  );

const HANDSHAKE_TYPES = new Set(['SESSION_ANNOUNCE', 'TASK_DISPATCH', 'TASK_RESULT']);

/** True for an object whose `type` is that of a handshake message. */
export function isHandshakeObject(value: unknown): value is JsonObject {
  return isJsonObject(value) && typeof value.type === 'string' && HANDSHAKE_TYPES.has(value.type);
}

/** True if a data part with this media type can hold a handshake message (docs/handshake.md#parts). */
export function mayHoldHandshake(mediaType: string | undefined): boolean {
  const type = mediaType === undefined ? undefined : bareMediaType(mediaType);
  return type === undefined || type === HANDSHAKE_MEDIA_TYPE || type === 'application/json';
}

/**
 * The parts of a stored A2A message, in its order, except handshake messages. The message was checked when it was accepted;
 * what is no part of A2A 1.0 in it is left out.
 */
export function contentParts({ parts }: JsonObject): readonly MessagePart[] {
  if (!Array.isArray(parts)) return [];
  return parts.flatMap((part, index) => {
    const read = isJsonObject(part) ? readPart(part, index) : undefined;
    return read === undefined || isHandshake(read) ? [] : [read];
  });
}

function readPart(part: JsonObject, index: number): MessagePart | undefined {
  const { text, data, raw, url, filename, metadata } = part;
  // ProtoJSON accepts both names.
  const mediaType = part.mediaType ?? part.media_type;
  const fields = {
    index,
    ...(typeof mediaType === 'string' && mediaType !== '' ? { mediaType } : {}),
    ...(isJsonObject(metadata) ? { metadata } : {}),
  };
  const named = typeof filename === 'string' && filename !== '' ? { filename } : {};
  if (typeof text === 'string') return { ...fields, kind: 'text', text };
  if (typeof raw === 'string') return { ...fields, ...named, kind: 'file', bytes: raw };
  if (typeof url === 'string') return { ...fields, ...named, kind: 'file', url };
  if (data !== undefined && data !== null) return { ...fields, kind: 'data', data };
  return undefined;
}

function isHandshake(part: MessagePart): boolean {
  if (part.kind === 'data') return mayHoldHandshake(part.mediaType) && isHandshakeObject(part.data);
  return part.kind === 'text' && isHandshakeText(part.text);
}

function isHandshakeText(text: string): boolean {
  const whole = text.trim();
  return whole.startsWith('{') && whole.endsWith('}') && isHandshakeObject(parseJson(whole));
}

/** The data and the files of a message: what the text of a dispatch does not say. */
export const attachments = (message: JsonObject): readonly MessagePart[] =>
  contentParts(message).filter(({ kind }) => kind !== 'text');

/** A part as A2A 1.0 JSON. */
export function encodePart(part: MessagePart): JsonObject {
  const { mediaType, metadata } = part;
  const shared: JsonObject = definedFields<JsonValue>({ mediaType, metadata });
  if (part.kind === 'text') return { text: part.text, ...shared };
  if (part.kind === 'data') return { data: part.data, ...shared };
  return definedFields<JsonValue>({
    url: part.url,
    raw: part.bytes,
    filename: part.filename,
    mediaType,
    metadata,
  });
}
