import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { JSONRPCErrorResponse } from '@modelcontextprotocol/client';

/** Why a request could not be delivered to `url`: in the words of the server where it answered, else that it did not. */
export function refusalOf(thrown: unknown, url: string): JSONRPCErrorResponse['error'] {
  const { status, text } = replyIn(thrown);
  if (status !== undefined && status !== 401) {
    const error = errorIn(text);
    if (error) return error;
  }
  const { jsonrpcCode, message, code } = asFleetError(thrown, status, url);
  return { code: jsonrpcCode, message, data: { reason: code } };
}

/** The status and the body of an HTTP reply that the SDK's transport threw. */
function replyIn(thrown: unknown): { readonly status?: number; readonly text?: unknown } {
  if (!(thrown instanceof Error) || !('data' in thrown) || !isJsonObject(thrown.data)) return {};
  const { status, text } = thrown.data;
  return typeof status === 'number' ? { status, text } : {};
}

/** The error of a JSON-RPC error response. */
function errorIn(text: unknown): JSONRPCErrorResponse['error'] | undefined {
  if (typeof text !== 'string' || !text.startsWith('{')) return undefined;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  const error: JsonObject = isJsonObject(body) && isJsonObject(body.error) ? body.error : {};
  const { code, message, data } = error;
  if (typeof code !== 'number' || typeof message !== 'string') return undefined;
  return { code, message, ...(data !== undefined && { data }) };
}

function asFleetError(thrown: unknown, status: number | undefined, url: string): FleetError {
  if (thrown instanceof FleetError) return thrown;
  const options = { cause: thrown };
  if (status === 401)
    return new FleetError('UNAUTHENTICATED', `${url} does not accept the token; check whose it is`, options);
  if (status !== undefined)
    return new FleetError('PEER_REFUSED', `${url} answered HTTP ${status}: ${String(thrown)}`, options);
  return new FleetError(
    'PEER_UNREACHABLE',
    `${url} does not answer; start the fleet, and try again`,
    options,
  );
}
