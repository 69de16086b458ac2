import type { Message } from '@a2a-js/sdk';
import {
  FleetError,
  HANDSHAKE_MEDIA_TYPE,
  invalidParams,
  isJsonObject,
  type JsonObject,
  jsonAt,
} from '@hermes-fleet/protocol';
import { bareMediaType, MAX_FILES, MAX_PARTS, mediaRanges } from '@hermes-fleet/protocol/ports';

type Part = Message['parts'][number];

/** A request with a message, as it arrived. */
interface Written {
  readonly text: string;
  /** `params.message`; undefined for A2A 0.3. */
  readonly rawMessage: JsonObject | undefined;
}

/** The media type of a part that states none. */
const DEFAULT_TYPES = {
  text: 'text/plain',
  data: 'application/json',
  raw: 'application/octet-stream',
  url: 'application/octet-stream',
} as const;

/** The modes that every card has, so that the usual message needs no card. */
const ALWAYS: ReadonlySet<string> = new Set([
  'text text/plain',
  'data application/json',
  `data ${HANDSHAKE_MEDIA_TYPE}`,
]);

/**
 * Throws CONTENT_TYPE_NOT_SUPPORTED for a part that the agent card does not offer to take, and INVALID_PARAMS for a file
 * that cannot be one and for too many parts (docs/handshake.md#data-and-files). `modes` are the card's `defaultInputModes`.
 */
export function checkParts(parts: readonly Part[], origin: Written, modes: () => readonly string[]): void {
  if (parts.length > MAX_PARTS)
    throw invalidParams('message.parts', `has ${parts.length} parts, at most ${MAX_PARTS}`);
  let files = 0;
  parts.forEach(({ content, mediaType }, index) => {
    const path = `message.parts[${index}]`;
    if (content === undefined) throw invalidParams(path, 'has no content: send text, data, bytes or a url');
    const { $case: kind } = content;
    const type = bareMediaType(mediaType || DEFAULT_TYPES[kind]);
    const isFile = kind === 'raw' || kind === 'url';
    if (!ALWAYS.has(`${kind} ${type}`) && !mediaRanges(modes())(type)) throw refused(path, isFile, type);
    if (!isFile) return;
    files += 1;
    if (files > MAX_FILES) throw invalidParams('message.parts', `has more than ${MAX_FILES} files`);
    if (content.$case === 'url') checkUrl(content.value, path);
    else checkBase64(writtenBytes(origin, index), path);
  });
}

function checkUrl(url: string, path: string): void {
  const parsed = url.length > MAX_URL ? null : URL.parse(url);
  const isHttp = parsed?.protocol === 'http:' || parsed?.protocol === 'https:';
  // The address may hold a secret, so it is not repeated.
  if (!isHttp || parsed.username !== '' || parsed.password !== '')
    throw invalidParams(`${path}.url`, 'is not an http or https address without credentials');
}

const MAX_URL = 8192;

const BASE64 = /^(?:[A-Za-z0-9+/]*|[A-Za-z0-9_-]*)={0,2}$/;

/** Decoders skip what is no base64, and so make another file of it. */
function checkBase64(bytes: unknown, path: string): void {
  const isBase64 = typeof bytes === 'string' && BASE64.test(bytes) && isWhole(bytes);
  if (!isBase64) throw invalidParams(`${path}.raw`, 'is not base64');
}

function isWhole(bytes: string): boolean {
  const digits = bytes.replace(/=+$/, '').length;
  return digits % 4 !== 1 && (digits === bytes.length || bytes.length % 4 === 0);
}

/** The bytes of a part as they were sent: in A2A 0.3 they are in `file.bytes`. */
function writtenBytes({ text, rawMessage }: Written, index: number): unknown {
  if (rawMessage === undefined) {
    const written = jsonAt(text, ['params', 'message', 'parts', index, 'file', 'bytes']);
    return written === undefined ? undefined : JSON.parse(written);
  }
  const part = Array.isArray(rawMessage.parts) ? rawMessage.parts[index] : undefined;
  return isJsonObject(part) ? part.raw : undefined;
}

function refused(path: string, isFile: boolean, type: string): FleetError {
  const what = isFile ? 'is a file of type' : 'has the media type';
  const reason = `${what} ${JSON.stringify(type.slice(0, 100))}, which is not among the defaultInputModes of the agent card`;
  return new FleetError('CONTENT_TYPE_NOT_SUPPORTED', `${path} ${reason}`, { fields: [{ path, reason }] });
}
