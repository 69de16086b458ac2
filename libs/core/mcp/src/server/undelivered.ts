import { FleetError, isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';
import type { JSONRPCErrorResponse } from '@modelcontextprotocol/client';

const MAX_LINE = 200;
/** The maximum length of an error that is passed on, as JSON. */
const MAX_ERROR = 10_000;

/** Shortens the text of another program to one line. */
export const oneLine = (text: string): string => text.replace(/\s+/g, ' ').slice(0, MAX_LINE);

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
  if (typeof text !== 'string' || text.length > MAX_ERROR || !text.startsWith('{')) return undefined;
  const body = parseJson(text);
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
    return new FleetError(
      'PEER_REFUSED',
      `${url} answered HTTP ${status}: ${oneLine(String(thrown))}`,
      options,
    );
  return new FleetError(
    'PEER_UNREACHABLE',
    `${url} does not answer; start the fleet, and try again`,
    options,
  );
}
