import { type ErrorCode, FleetError, fieldPath, isJsonObject } from '@hermes-fleet/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** The body of an error, unless the route speaks another protocol. */
export const errorBody = ({ code, message, fields }: FleetError) => ({ error: { code, message, fields } });

/**
 * Translates a thrown value for the caller: a FleetError stays, errors of Fastify become catalogue errors, everything
 * else becomes INTERNAL without details. Sets the status, `WWW-Authenticate` and `Retry-After` of the reply and stores
 * the error for the request's log line. The error handler sends the body; a handler for another protocol calls this
 * function, too.
 */
export function translateError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FleetError {
  const error = toFleetError(thrown, request);
  request.failure = error;
  reply.code(error.httpStatus);
  if (error.code === 'UNAUTHENTICATED') reply.header('www-authenticate', 'Bearer');
  if (error.retryAfterS !== undefined)
    reply.header('retry-after', String(Math.max(1, Math.ceil(error.retryAfterS))));
  return error;
}

/** The errors of Fastify, as those of the catalogue. */
const OF_FASTIFY: Readonly<
  Record<string, readonly [ErrorCode, string | ((request: FastifyRequest) => string)]>
> = {
  FST_ERR_CTP_BODY_TOO_LARGE: [
    'BODY_TOO_LARGE',
    ({ routeOptions }) => `the body is larger than ${routeOptions.bodyLimit} bytes; send less`,
  ],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'UNSUPPORTED_MEDIA_TYPE',
    ({ headers }) =>
      `${headers['content-type'] ? 'this content type' : 'a body without content type'} is not accepted; send application/json`,
  ],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['PARSE_ERROR', 'the body is not JSON; send one JSON value'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['PARSE_ERROR', 'the body is not JSON; send one JSON value'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['INVALID_REQUEST', 'the body is not as long as Content-Length says'],
  FST_ERR_BAD_URL: ['INVALID_REQUEST', 'the path of this URL is not valid; check its % escapes'],
  FST_ERR_MAX_PARAM_LENGTH: ['INVALID_REQUEST', 'a segment of the path of this URL is too long'],
};

function toFleetError(thrown: unknown, request: FastifyRequest): FleetError {
  if (thrown instanceof FleetError) return thrown;
  const reason = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  if (reason === 'FST_ERR_VALIDATION') return validationError(thrown);
  const options = { cause: thrown };
  const known = OF_FASTIFY[reason];
  if (known) {
    const [code, message] = known;
    return new FleetError(code, typeof message === 'string' ? message : message(request), options);
  }
  if (request.raw.destroyed && !request.raw.complete)
    return new FleetError('CANCELED', 'the client disconnected before its request was complete', options);
  return FleetError.from(thrown);
}

/** Fastify's validation error as INVALID_PARAMS that names every invalid field. */
function validationError(thrown: unknown): FleetError {
  const issues = isJsonObject(thrown) && Array.isArray(thrown.validation) ? thrown.validation : [];
  const fields = issues.filter(isJsonObject).map((entry) => {
    const pointer = String(entry.instancePath ?? '')
      .split('/')
      .slice(1);
    const parts = pointer.map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    return { path: fieldPath(parts), reason: String(entry.message) };
  });
  const part = isJsonObject(thrown) ? String(thrown.validationContext ?? 'request') : 'request';
  const list = fields.map(({ path, reason }) => `${path || `(${part})`}: ${reason}`).join('; ');
  return new FleetError('INVALID_PARAMS', `the ${part} is not valid: ${list}`, { fields, cause: thrown });
}
