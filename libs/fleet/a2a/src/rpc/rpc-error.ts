import { ERRORS, type ErrorCode, type FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { A2A_REASONS } from '../wire/error-reasons.ts';
import type { RpcId } from './envelope.ts';

const A2A_DOMAIN = 'a2a-protocol.org';
const OWN_DOMAIN = 'hermes-fleet';

/** The statuses that HTTP clients act on: challenge, back-off, size. Every other error is answered with 200. */
const HTTP_STATUSES: ReadonlySet<number> = new Set([401, 403, 408, 413, 415, 429, 503]);

/** Errors of HTTP that A2A has a code of its own for; other protocols on the same listener keep the code of the catalogue. */
const SHOWN_AS: Readonly<Partial<Record<ErrorCode, ErrorCode>>> = {
  UNSUPPORTED_MEDIA_TYPE: 'CONTENT_TYPE_NOT_SUPPORTED',
};

export function httpStatusOf(error: FleetError): number {
  return HTTP_STATUSES.has(error.httpStatus) ? error.httpStatus : 200;
}

/** A JSON-RPC error reply whose `data` holds google.rpc.ErrorInfo and, for wrong fields, google.rpc.BadRequest. */
export function errorReply(id: RpcId, error: FleetError): JsonObject {
  const shown = SHOWN_AS[error.code] ?? error.code;
  const { jsonrpcCode: code } = ERRORS[shown];
  return { jsonrpc: '2.0', id, error: { code, message: error.message, data: errorDetails(shown, error) } };
}

function errorDetails(shown: ErrorCode, error: FleetError): JsonObject[] {
  const reason = A2A_REASONS[shown];
  const info: JsonObject = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: reason ?? shown,
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
