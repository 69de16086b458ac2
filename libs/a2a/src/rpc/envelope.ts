import { FleetError, isJsonObject } from '@hermes-fleet/protocol';

export type RpcId = string | number | null;

export interface RpcRequest {
  readonly id: RpcId;
  /** A request without an id: it is carried out and never answered. */
  readonly notification: boolean;
  readonly method: string;
  readonly params: unknown;
}

export type Envelope =
  | { readonly ok: true; readonly request: RpcRequest }
  | { readonly ok: false; readonly id: RpcId; readonly error: FleetError };

const MAX_DEPTH = 100;

/** Reads a JSON-RPC 2.0 request strictly: what is no JSON is PARSE_ERROR, what is no single request INVALID_REQUEST. */
export function readEnvelope(text: string): Envelope {
  const body = parse(text);
  if (body === undefined) return refuse('PARSE_ERROR', 'the body is not JSON');
  if (Array.isArray(body))
    return refuse('INVALID_REQUEST', 'batches are not supported; send one request at a time');
  if (!isJsonObject(body)) return refuse('INVALID_REQUEST', 'the body is not a JSON-RPC request object');
  const { id, method, params } = body;
  if (id !== undefined && !isId(id))
    return refuse('INVALID_REQUEST', 'id must be a string, an integer or null');
  const known = id ?? null;
  if (body.jsonrpc !== '2.0') return refuse('INVALID_REQUEST', 'jsonrpc must be "2.0"', known);
  if (typeof method !== 'string' || method === '') {
    return refuse('INVALID_REQUEST', 'method must be a non-empty string', known);
  }
  if (isDeep(params)) {
    return refuse('INVALID_REQUEST', `params are nested deeper than ${MAX_DEPTH} levels`, known);
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

function refuse(code: 'PARSE_ERROR' | 'INVALID_REQUEST', message: string, id: RpcId = null): Envelope {
  return { ok: false, id, error: new FleetError(code, message) };
}

const isId = (id: unknown): id is RpcId => id === null || typeof id === 'string' || Number.isInteger(id);

/** Level by level, not by recursion: a body of a million brackets must not use up the stack here or later. */
function isDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  }
  return false;
}
