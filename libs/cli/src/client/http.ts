import { connectionFault, connectionRefusal } from '@hermes-fleet/a2a/client';
import type { TlsFetch } from '@hermes-fleet/net';
import { type FieldError, FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { TLS_KEYS, tlsFetch } from './tls.ts';

const CALL_MS = 15_000;
const PAGE_MS = 3_000;

/** A service of the fleet and its base URL, without a path. */
export interface Endpoint {
  readonly name: string;
  readonly url: string;
}

/** An endpoint, and the bearer token to call it with. */
export interface Target extends Endpoint {
  readonly token: string;
}

/**
 * Calls a profile's HTTP API: by default POST with a body, GET without one. Throws PEER_UNREACHABLE when nothing answers,
 * UNAUTHENTICATED when the token is rejected, and PEER_REFUSED with the profile's message and field errors for any
 * other answer that is not a JSON object with a 2xx status.
 */
export async function callApi(
  target: Target,
  path: string,
  body?: JsonObject,
  method = body === undefined ? 'GET' : 'POST',
): Promise<JsonObject> {
  const response = await request(target, path, {
    method,
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${target.token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(CALL_MS),
  });
  const answer = await readJson(target, response);
  if (response.ok && isJsonObject(answer)) return answer;
  throw refusal(target, response.status, answer);
}

/** The text of a page that needs no token, such as `/metrics`. Throws PEER_UNREACHABLE. */
export async function getText(endpoint: Endpoint, path: string): Promise<string> {
  const response = await request(endpoint, path, { signal: AbortSignal.timeout(PAGE_MS) });
  return response.text();
}

/** Sends an HTTP request. Throws PEER_UNREACHABLE when nothing answers. */
export async function request(
  endpoint: Endpoint,
  path: string,
  init: Parameters<TlsFetch>[1],
): Promise<Response> {
  try {
    return await tlsFetch(`${endpoint.url}${path}`, init);
  } catch (cause) {
    throw unreachable(endpoint, cause);
  }
}

function unreachable({ name, url }: Endpoint, cause: unknown): FleetError {
  const fault = connectionFault(cause, TLS_KEYS);
  const message = fault
    ? `${name} at ${url} cannot be reached: ${fault.what}: ${fault.remedy}`
    : `${name} does not answer at ${url}`;
  return new FleetError('PEER_UNREACHABLE', message, { cause });
}

/** The body as JSON; undefined when it is not JSON. Throws PEER_UNREACHABLE when the body breaks off. */
export async function readJson(endpoint: Endpoint, response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw new FleetError('PEER_UNREACHABLE', `${endpoint.name} did not finish its answer`, { cause });
  }
}

/** UNAUTHENTICATED for 401, else PEER_REFUSED with the message and the field errors of the answer. */
export function refusal(endpoint: Endpoint, status: number, body: unknown): FleetError {
  if (status === 401) return new FleetError('UNAUTHENTICATED', `${endpoint.name} does not accept the token`);
  const error = isJsonObject(body) && isJsonObject(body.error) ? body.error : {};
  const refused = connectionRefusal(error.code);
  if (refused) return unreachable(endpoint, refused);
  const message = typeof error.message === 'string' ? `: ${error.message}` : '';
  // A JSON-RPC error comes with HTTP 200, which says nothing.
  const answer = status < 300 && message !== '' ? 'refused' : `answered HTTP ${status}`;
  return new FleetError('PEER_REFUSED', `${endpoint.name} ${answer}${message}`, {
    fields: fieldsOf(error),
  });
}

function fieldsOf({ fields }: JsonObject): FieldError[] {
  if (!Array.isArray(fields)) return [];
  return fields.flatMap((field) =>
    isJsonObject(field) ? [{ path: String(field.path), reason: String(field.reason) }] : [],
  );
}
