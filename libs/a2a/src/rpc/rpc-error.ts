import { type ErrorCode, FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { RpcId } from './envelope.ts';

/** Errors that A2A defines keep its domain and its names, so that stock clients know them. */
const A2A_DOMAIN = 'a2a-protocol.org';
const OWN_DOMAIN = 'hermes-fleet';

export const A2A_REASONS: Readonly<Partial<Record<ErrorCode, string>>> = {
  TASK_NOT_FOUND: 'TASK_NOT_FOUND',
  TASK_NOT_CANCELABLE: 'TASK_NOT_CANCELABLE',
  PUSH_NOT_SUPPORTED: 'PUSH_NOTIFICATION_NOT_SUPPORTED',
  UNSUPPORTED_OPERATION: 'UNSUPPORTED_OPERATION',
  CONTENT_TYPE_NOT_SUPPORTED: 'CONTENT_TYPE_NOT_SUPPORTED',
  VERSION_NOT_SUPPORTED: 'VERSION_NOT_SUPPORTED',
};

/** Statuses that HTTP itself acts on (challenge, back-off, size); every other error is JSON-RPC's own business. */
const HTTP_STATUSES: ReadonlySet<number> = new Set([401, 403, 408, 413, 415, 429, 503]);

export function httpStatusOf(error: FleetError): number {
  return HTTP_STATUSES.has(error.httpStatus) ? error.httpStatus : 200;
}

/** A JSON-RPC error reply; `data` explains it by google.rpc.ErrorInfo and, for wrong fields, google.rpc.BadRequest. */
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

export function taskNotFound(id: string): FleetError {
  return new FleetError('TASK_NOT_FOUND', `task ${id.slice(0, 100)} is not known here`);
}
