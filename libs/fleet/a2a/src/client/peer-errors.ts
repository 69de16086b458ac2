import type { TextAnswer } from '@hermes-fleet/net';
import { connectionFault, connectionRefusal, type TlsKeys } from '@hermes-fleet/net/tls';
import { ERRORS, type ErrorCode, type FieldError, FleetError, isJsonObject } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { A2A_REASONS } from '../wire/error-reasons.ts';

/** Keeps a peer's error codes, field names and reasons, all bounded in size. Its message is never kept. */
const RpcErrorBody = z.object({
  code: z.int(),
  data: z.array(z.looseObject({ '@type': z.string() })).catch([]),
});

const ErrorInfo = z.object({
  reason: z.string().regex(/^[A-Z0-9_]{1,64}$/),
  metadata: z.record(z.string(), z.string()).catch({}),
});

const BadRequest = z.object({
  fieldViolations: z.array(z.object({ field: z.string(), description: z.string().catch('') })),
});

const MAX_FIELDS = 50;
const MAX_TEXT = 200;

const CODE_OF_RPC: ReadonlyMap<number, ErrorCode> = new Map([
  [-32700, 'PARSE_ERROR'],
  [-32600, 'INVALID_REQUEST'],
  [-32601, 'METHOD_NOT_FOUND'],
  [-32602, 'INVALID_PARAMS'],
  [-32603, 'INTERNAL'],
  [-32001, 'TASK_NOT_FOUND'],
  [-32002, 'TASK_NOT_CANCELABLE'],
  [-32003, 'PUSH_NOT_SUPPORTED'],
  [-32004, 'UNSUPPORTED_OPERATION'],
  [-32005, 'CONTENT_TYPE_NOT_SUPPORTED'],
  [-32009, 'VERSION_NOT_SUPPORTED'],
]);

const CODE_OF_STATUS: ReadonlyMap<number, ErrorCode> = new Map([
  [401, 'UNAUTHENTICATED'],
  [403, 'FORBIDDEN'],
  [404, 'NOT_FOUND'],
  [408, 'REQUEST_TIMEOUT'],
  [413, 'BODY_TOO_LARGE'],
  [415, 'UNSUPPORTED_MEDIA_TYPE'],
]);

const CODES = new Map<string, ErrorCode>([
  ...(Object.keys(ERRORS) as ErrorCode[]).map((code): [string, ErrorCode] => [code, code]),
  ...Object.entries(A2A_REASONS).map(([code, reason]): [string, ErrorCode] => [reason, code as ErrorCode]),
]);

/** Who is called for what. */
export interface Called {
  /** The name of the peer. */
  readonly name: string;
  readonly url: string;
  readonly method: string;
  /** Where the certificates are configured, for messages; default: fleet.yaml. */
  readonly tlsKeys?: TlsKeys | undefined;
}

/**
 * Converts an error answer, whose body has `error`, to PEER_REFUSED, with the peer's field list and its code as the cause (see
 * peerErrorCode). Retryable for 429, for 503, and when the peer says so. A refusal of the connection itself is PEER_UNREACHABLE.
 */
export function refusedBy(
  called: Called,
  { status, retryAfter }: Pick<TextAnswer, 'status' | 'retryAfter'>,
  error: unknown,
): FleetError {
  const body = RpcErrorBody.safeParse(error).data;
  const info = detail(body?.data, 'ErrorInfo', ErrorInfo);
  const fields = fieldsOf(detail(body?.data, 'BadRequest', BadRequest));
  const known =
    (info && CODES.get(info.reason)) ?? CODE_OF_STATUS.get(status) ?? (body && CODE_OF_RPC.get(body.code));
  const refusal = connectionRefusal(info?.reason ?? (isJsonObject(error) ? error.code : undefined));
  if (refusal) return unreachable(called, refusal);
  const answer = [info?.reason ?? known, body?.code, status === 200 ? undefined : `HTTP ${status}`]
    .filter((part) => part !== undefined)
    .join(', ');
  const retryAfterS = secondsIn(retryAfter) ?? secondsIn(info?.metadata.retry_after_s ?? null);
  const where = fields.length === 0 ? '' : `; wrong fields: ${fields.map(({ path }) => path).join(', ')}`;
  return new FleetError(
    'PEER_REFUSED',
    `peer "${called.name}" refused ${called.method} (${answer})${where}`,
    {
      fields,
      retryable: status === 429 || status === 503 || info?.metadata.retryable === 'true',
      ...(retryAfterS === undefined ? {} : { retryAfterS }),
      ...(known === undefined
        ? {}
        : { cause: new FleetError(known, `answer of peer "${called.name}"`, { fields }) }),
    },
  );
}

/** The catalogue code that a peer answered with; undefined for other errors and for unknown codes. */
export function peerErrorCode(thrown: unknown): ErrorCode | undefined {
  if (!(thrown instanceof FleetError) || thrown.code !== 'PEER_REFUSED') return undefined;
  return thrown.cause instanceof FleetError ? thrown.cause.code : undefined;
}

/** PEER_REFUSED for an answer that is not A2A. */
export const invalidAnswer = ({ name, method }: Pick<Called, 'name' | 'method'>, what: string): FleetError =>
  new FleetError('PEER_REFUSED', `peer "${name}" answered ${method} with ${what}; is it an A2A agent?`);

/** PEER_UNREACHABLE for a request without an answer. The message holds a system error code, never text of the peer. */
export function unreachable({ name, url, method, tlsKeys }: Called, cause: unknown): FleetError {
  const fault = connectionFault(cause, tlsKeys);
  const message = fault
    ? `peer "${name}" at ${new URL(url).origin} cannot be reached for ${method}: ${fault.what}: ${fault.remedy}`
    : `peer "${name}" cannot be reached for ${method}: ${systemCode(cause)}`;
  return new FleetError('PEER_UNREACHABLE', message, { cause });
}

export const timedOut = ({ name, method }: Called, ms: number): FleetError =>
  new FleetError('PEER_UNREACHABLE', `peer "${name}" did not answer ${method} within ${ms} ms`);

function systemCode(thrown: unknown): string {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    if ('code' in error && typeof error.code === 'string' && /^[A-Z0-9_]+$/.test(error.code))
      return error.code;
  }
  return 'connection failed';
}

function detail<S extends z.ZodType>(
  data: readonly { readonly '@type': string }[] | undefined,
  type: string,
  schema: S,
): z.output<S> | undefined {
  const found = data?.find((item) => item['@type'].endsWith(`google.rpc.${type}`));
  return isJsonObject(found) ? schema.safeParse(found).data : undefined;
}

function fieldsOf(bad: z.output<typeof BadRequest> | undefined): FieldError[] {
  return (bad?.fieldViolations ?? []).slice(0, MAX_FIELDS).map(({ field, description }) => ({
    path: field.slice(0, MAX_TEXT),
    reason: description.slice(0, MAX_TEXT),
  }));
}

/** The seconds in a header such as `Retry-After`; undefined for one that has no number of them. */
export function secondsIn(header: string | null): number | undefined {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) : undefined;
}
