/**
 * The error catalogue (docs/handshake.md#errors). Every deliberate failure throws a `FleetError` with one of these
 * codes; the transport of the request translates it, once, by this table.
 */
export const ERRORS = {
  UNAUTHENTICATED: { httpStatus: 401, jsonrpcCode: -32000, retryable: false },
  FORBIDDEN: { httpStatus: 403, jsonrpcCode: -32000, retryable: false },
  CLIENT_CERTIFICATE_REQUIRED: { httpStatus: 403, jsonrpcCode: -32000, retryable: false },
  CLIENT_CERTIFICATE_REFUSED: { httpStatus: 403, jsonrpcCode: -32000, retryable: false },
  TLS_REQUIRED: { httpStatus: 400, jsonrpcCode: -32600, retryable: false },
  TOKEN_NEEDED: { httpStatus: 403, jsonrpcCode: -32000, retryable: false },
  PARSE_ERROR: { httpStatus: 400, jsonrpcCode: -32700, retryable: false },
  INVALID_REQUEST: { httpStatus: 400, jsonrpcCode: -32600, retryable: false },
  METHOD_NOT_FOUND: { httpStatus: 404, jsonrpcCode: -32601, retryable: false },
  INVALID_PARAMS: { httpStatus: 400, jsonrpcCode: -32602, retryable: false },
  DISPATCH_EXPIRED: { httpStatus: 409, jsonrpcCode: -32000, retryable: false },
  TASK_ID_CONFLICT: { httpStatus: 409, jsonrpcCode: -32602, retryable: false },
  CONTEXT_IN_USE: { httpStatus: 409, jsonrpcCode: -32000, retryable: true },
  CONTEXT_SHARED: { httpStatus: 409, jsonrpcCode: -32000, retryable: false },
  CONTEXT_MISMATCH: { httpStatus: 400, jsonrpcCode: -32602, retryable: false },
  INTERNAL: { httpStatus: 500, jsonrpcCode: -32603, retryable: true },
  TASK_NOT_FOUND: { httpStatus: 404, jsonrpcCode: -32001, retryable: false },
  NO_RESULT: { httpStatus: 404, jsonrpcCode: -32001, retryable: false },
  BUNDLE_REFUSED: { httpStatus: 422, jsonrpcCode: -32602, retryable: false },
  BUNDLE_LACKS_COMMITS: { httpStatus: 409, jsonrpcCode: -32602, retryable: false },
  TASK_NOT_CANCELABLE: { httpStatus: 409, jsonrpcCode: -32002, retryable: false },
  PUSH_NOT_SUPPORTED: { httpStatus: 400, jsonrpcCode: -32003, retryable: false },
  UNSUPPORTED_OPERATION: { httpStatus: 400, jsonrpcCode: -32004, retryable: false },
  CONTENT_TYPE_NOT_SUPPORTED: { httpStatus: 400, jsonrpcCode: -32005, retryable: false },
  VERSION_NOT_SUPPORTED: { httpStatus: 400, jsonrpcCode: -32009, retryable: false },
  NOT_FOUND: { httpStatus: 404, jsonrpcCode: -32601, retryable: false },
  METHOD_NOT_ALLOWED: { httpStatus: 405, jsonrpcCode: -32600, retryable: false },
  HEADERS_TOO_LARGE: { httpStatus: 431, jsonrpcCode: -32600, retryable: false },
  BODY_TOO_LARGE: { httpStatus: 413, jsonrpcCode: -32600, retryable: false },
  ARTIFACT_TOO_LARGE: { httpStatus: 413, jsonrpcCode: -32000, retryable: false },
  UNSUPPORTED_MEDIA_TYPE: { httpStatus: 415, jsonrpcCode: -32600, retryable: false },
  REQUEST_TIMEOUT: { httpStatus: 408, jsonrpcCode: -32000, retryable: true },
  TOO_MANY_STREAMS: { httpStatus: 429, jsonrpcCode: -32000, retryable: true },
  QUEUE_FULL: { httpStatus: 503, jsonrpcCode: -32000, retryable: true },
  SHUTTING_DOWN: { httpStatus: 503, jsonrpcCode: -32000, retryable: true },
  STORE_UNAVAILABLE: { httpStatus: 503, jsonrpcCode: -32000, retryable: true },
  CAPACITY: { httpStatus: 503, jsonrpcCode: -32000, retryable: true },
  PEER_UNREACHABLE: { httpStatus: 502, jsonrpcCode: -32000, retryable: true },
  PEER_REFUSED: { httpStatus: 502, jsonrpcCode: -32000, retryable: false },
  CONFIG_INVALID: { httpStatus: 500, jsonrpcCode: -32603, retryable: false },
  PROFILE_ALREADY_SERVED: { httpStatus: 500, jsonrpcCode: -32603, retryable: false },
  BIND_FAILED: { httpStatus: 500, jsonrpcCode: -32603, retryable: false },
  DEADLINE_EXCEEDED: { httpStatus: 504, jsonrpcCode: -32000, retryable: false },
  BUDGET_EXHAUSTED: { httpStatus: 402, jsonrpcCode: -32000, retryable: false },
  CANCELED: { httpStatus: 499, jsonrpcCode: -32000, retryable: false },
  MODEL_FAILED: { httpStatus: 502, jsonrpcCode: -32000, retryable: true },
} as const satisfies Record<string, { httpStatus: number; jsonrpcCode: number; retryable: boolean }>;

export type ErrorCode = keyof typeof ERRORS;

export interface FieldError {
  /** `task.priority`, or `fleet.yaml:12 fleet.server.bind_port`. */
  readonly path: string;
  readonly reason: string;
}

export interface FleetErrorOptions {
  readonly fields?: readonly FieldError[];
  readonly cause?: unknown;
  /** Seconds to wait before a retry; becomes `Retry-After`. */
  readonly retryAfterS?: number;
  /** Overrides the catalogue where one code covers both cases (a peer's 503 and its 400). */
  readonly retryable?: boolean;
}

/** An error that is part of the contract. Callers see its message: it contains no secret, path or stack. */
export class FleetError extends Error {
  override readonly name = 'FleetError';
  readonly code: ErrorCode;
  readonly fields: readonly FieldError[];
  readonly retryAfterS: number | undefined;
  readonly retryable: boolean;

  constructor(code: ErrorCode, message: string, options: FleetErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.fields = options.fields ?? [];
    this.retryAfterS = options.retryAfterS;
    this.retryable = options.retryable ?? ERRORS[code].retryable;
  }

  get httpStatus(): number {
    return ERRORS[this.code].httpStatus;
  }

  get jsonrpcCode(): number {
    return ERRORS[this.code].jsonrpcCode;
  }

  /** CONFIG_INVALID for one key. `path` is its file and itself (`config.yaml tools.shell.path`); `reason` says what to do. */
  static ofKey(path: string, reason: string, cause?: unknown): FleetError {
    return new FleetError('CONFIG_INVALID', `${path}: ${reason}`, { fields: [{ path, reason }], cause });
  }

  /** Converts a thrown value. One that is not a FleetError becomes INTERNAL; its text is kept in `cause` only. */
  static from(thrown: unknown): FleetError {
    if (thrown instanceof FleetError) return thrown;
    return new FleetError('INTERNAL', 'internal error; the log of this request has the details', {
      cause: thrown,
    });
  }
}

/** The code of an error of the system, such as `ENOENT`; undefined for an error without one. */
export const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** An INVALID_PARAMS that names the field; `reason` goes on after its path. */
export const invalidParams = (path: string, reason: string): FleetError =>
  new FleetError('INVALID_PARAMS', `${path} ${reason}`, { fields: [{ path, reason }] });
