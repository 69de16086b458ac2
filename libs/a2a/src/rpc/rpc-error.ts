import type { FleetError, JsonObject } from '@hermes-fleet/protocol';
import { A2A_REASONS } from '../wire/error-reasons.ts';
import type { RpcId } from './envelope.ts';

const A2A_DOMAIN = 'a2a-protocol.org';
const OWN_DOMAIN = 'hermes-fleet';

/** The statuses that HTTP clients act on: challenge, back-off, size. Every other error is answered with 200. */
const HTTP_STATUSES: ReadonlySet<number> = new Set([401, 403, 408, 413, 415, 429, 503]);

export function httpStatusOf(error: FleetError): number {
  return HTTP_STATUSES.has(error.httpStatus) ? error.httpStatus : 200;
}

/** A JSON-RPC error reply whose `data` holds google.rpc.ErrorInfo and, for wrong fields, google.rpc.BadRequest. */
export function errorReply(id: RpcId, error: FleetError): JsonObject {
  const { jsonrpcCode: code, message } = error;
  return { jsonrpc: '2.0', id, error: { code, message, data: errorDetails(error) } };
}

function errorDetails(error: FleetError): JsonObject[] {
  const reason = A2A_REASONS[error.code];
  const info: JsonObject = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: reason ?? error.code,
    domain: reason === undefined ? OWN_DOMAIN : A2A_DOMAIN,
    metadata: {
      retryable: String(error.retryable),
      ...(error.retryAfterS === undefined ? {} : { retry_after_s: String(error.retryAfterS) }),
    },
  };
  if (error.fields.length === 0) return [info];
  const fieldViolations = error.fields.map(({ path, reason: description }) => ({ field: path, description }));
  return [info, { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }];
}
