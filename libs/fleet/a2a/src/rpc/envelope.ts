import {
  FleetError,
  isJsonObject,
  isNestedDeeper,
  type JsonObject,
  type JsonValue,
  MAX_NESTING,
} from '@hermes-fleet/protocol';
import { parseBody } from '@hermes-fleet/service';
import { isRelayed, RELAY_LEVELS } from './body-limit.ts';

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

export interface EnvelopeOptions {
  /** True for methods whose params are not parsed here and may be nested to any depth. */
  readonly isOwn?: (method: string) => boolean;
  /** See A2AOptions. */
  readonly readsText?: ((data: JsonObject) => boolean) | undefined;
}

/** Reads a JSON-RPC 2.0 request strictly: PARSE_ERROR for invalid JSON, INVALID_REQUEST for all but a single request. */
export function readEnvelope(text: string, options: EnvelopeOptions = {}): Envelope {
  let body: JsonValue;
  try {
    body = parseBody(text);
  } catch (thrown) {
    return { ok: false, id: null, method: undefined, error: FleetError.from(thrown) };
  }
  if (Array.isArray(body)) return refuse('batches are not supported; send one request at a time');
  if (!isJsonObject(body)) return refuse('the body is not a JSON-RPC request object');
  const { id, method } = body;
  const named = typeof method === 'string' ? method : undefined;
  if (id !== undefined && !isId(id))
    return refuse('id must be a string, an integer within 2^53, or null', null, named);
  const known = id ?? null;
  if (body.jsonrpc !== '2.0') return refuse('jsonrpc must be "2.0"', known, named);
  if (typeof method !== 'string' || method === '') {
    return refuse('method must be a non-empty string', known);
  }
  const isTooDeep = !(options.isOwn?.(method) ?? false) && isNestedDeeper(body.params);
  const params = isTooDeep ? shallow(body.params, options.readsText) : body.params;
  if (isTooDeep && isNestedDeeper(params, MAX_NESTING + (isRelayed(params) ? RELAY_LEVELS : 0))) {
    return refuse(`params are nested deeper than ${MAX_NESTING} levels`, known, method);
  }
  return { ok: true, request: { id: known, notification: id === undefined, method, params } };
}

function refuse(message: string, id: RpcId = null, method?: string): Envelope {
  return { ok: false, id, method, error: new FleetError('INVALID_REQUEST', message) };
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
