import { isUtf8 } from 'node:buffer';
import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';

export type RpcId = string | number | null;

export interface RpcRequest {
  readonly id: RpcId;
  /** True for a request without an id, which is never answered. */
  readonly notification: boolean;
  readonly method: string;
  readonly params: unknown;
}

export type Envelope =
  | { readonly ok: true; readonly request: RpcRequest }
  | {
      readonly ok: false;
      readonly id: RpcId;
      readonly method: string | undefined;
      readonly error: FleetError;
    };

const MAX_DEPTH = 100;

export interface EnvelopeOptions {
  /** True for methods whose params are not parsed here and may be nested to any depth. */
  readonly isOwn?: (method: string) => boolean;
  /** See A2AOptions. */
  readonly readsText?: ((data: JsonObject) => boolean) | undefined;
}

/** Reads a JSON-RPC 2.0 request strictly: PARSE_ERROR for invalid JSON, INVALID_REQUEST for all but a single request. */
export function readEnvelope(text: string, options: EnvelopeOptions = {}): Envelope {
  const body = parse(text);
  if (body === undefined) return refuse('PARSE_ERROR', 'the body is not JSON');
  if (Array.isArray(body))
    return refuse('INVALID_REQUEST', 'batches are not supported; send one request at a time');
  if (!isJsonObject(body)) return refuse('INVALID_REQUEST', 'the body is not a JSON-RPC request object');
  const { id, method } = body;
  const named = typeof method === 'string' ? method : undefined;
  if (id !== undefined && !isId(id))
    return refuse('INVALID_REQUEST', 'id must be a string, an integer within 2^53, or null', null, named);
  const known = id ?? null;
  if (body.jsonrpc !== '2.0') return refuse('INVALID_REQUEST', 'jsonrpc must be "2.0"', known, named);
  if (typeof method !== 'string' || method === '') {
    return refuse('INVALID_REQUEST', 'method must be a non-empty string', known);
  }
  const isTooDeep = !(options.isOwn?.(method) ?? false) && isDeep(body.params);
  const params = isTooDeep ? shallow(body.params, options.readsText) : body.params;
  if (isTooDeep && isDeep(params)) {
    return refuse('INVALID_REQUEST', `params are nested deeper than ${MAX_DEPTH} levels`, known, method);
  }
  return { ok: true, request: { id: known, notification: id === undefined, method, params } };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refuse(
  code: 'PARSE_ERROR' | 'INVALID_REQUEST',
  message: string,
  id: RpcId = null,
  method?: string,
): Envelope {
  return { ok: false, id, method, error: new FleetError(code, message) };
}

const isId = (id: unknown): id is RpcId => id === null || typeof id === 'string' || Number.isSafeInteger(id);

/** Too deeply nested params, with each data part that `readsText` selects cut to its scalar members. */
function shallow(params: unknown, readsText: EnvelopeOptions['readsText']): unknown {
  if (readsText === undefined || !isJsonObject(params)) return params;
  const { message } = params;
  if (!isJsonObject(message) || !Array.isArray(message.parts)) return params;
  const parts = message.parts.map((part) =>
    isJsonObject(part) && isJsonObject(part.data) && readsText(part.data)
      ? { ...part, data: flat(part.data) }
      : part,
  );
  return { ...params, message: { ...message, parts } };
}

function flat(data: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => typeof value !== 'object'));
}

/** Goes no deeper than the limit: a body of a million brackets must not exhaust the stack. */
function isDeep(value: unknown, left = MAX_DEPTH): boolean {
  if (left < 0) return true;
  if (typeof value !== 'object' || value === null) return false;
  const items = Array.isArray(value) ? value : Object.values(value);
  for (const item of items) if (isDeep(item, left - 1)) return true;
  return false;
}

/**
 * Decodes a JSON body. Throws PARSE_ERROR for invalid UTF-8 (RFC 8259, section 8.1): with replacement characters, two
 * different bodies could decode to the same text.
 */
export function bodyText(body: Buffer): string {
  if (isUtf8(body)) return body.toString('utf8');
  throw new FleetError('PARSE_ERROR', 'the body is not JSON: it is not UTF-8');
}
