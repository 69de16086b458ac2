import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { oneLine } from './content.ts';
import { TimeoutError } from './deadline.ts';

const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'host name could not be resolved',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'the network timed out',
  EPIPE: 'the server closed its input',
};

/** The reason that a server cannot be used, without details that callers must not see. */
export class ServerFailure extends Error {
  override readonly name = 'ServerFailure';
}

/** True for a JSON-RPC error that the server sent: the server itself works. */
export function isAnswer(error: unknown): error is ProtocolError {
  return error instanceof ProtocolError;
}

/** True when an HTTP server no longer knows the session: the request had no effect, and a new session may be opened. */
export function isSessionLost(error: unknown): boolean {
  return error instanceof SdkHttpError && error.status === 404;
}

/** Classifies a failure: `timeout` for an expired deadline, otherwise `error`. The detail has no path, header or output. */
export function describeFailure(error: unknown): {
  readonly state: 'timeout' | 'error';
  readonly detail: string;
} {
  if (error instanceof TimeoutError) return { state: 'timeout', detail: error.message };
  return { state: 'error', detail: detailOf(error) };
}

function detailOf(error: unknown): string {
  if (error instanceof ServerFailure) return error.message;
  if (isAnswer(error)) return `answered with error ${error.code}`;
  if (error instanceof SdkHttpError && REDIRECTS.has(error.status))
    return `redirects to an address that is not followed (HTTP status ${error.status}): set the url of the server to the new one`;
  if (error instanceof SdkHttpError) return `answered with HTTP status ${error.status}`;
  if (error instanceof SdkError && CLOSED.has(error.code)) return 'connection closed';
  if (isNotMcp(error)) return 'answered with something that is not MCP';
  const code = networkCode(error);
  if (code !== undefined) return NETWORK[code] ?? `network error ${code}`;
  return error instanceof Error ? oneLine(error.message) : 'unknown failure';
}

const REDIRECTS: ReadonlySet<number | undefined> = new Set([301, 302, 303, 307, 308]);
const CLOSED: ReadonlySet<SdkErrorCode> = new Set([SdkErrorCode.ConnectionClosed, SdkErrorCode.NotConnected]);
const NOT_MCP: ReadonlySet<SdkErrorCode> = new Set([
  SdkErrorCode.InvalidResult,
  SdkErrorCode.ClientHttpUnexpectedContent,
]);

function isNotMcp(error: unknown): boolean {
  if (error instanceof SdkError) return NOT_MCP.has(error.code);
  return error instanceof SyntaxError || (error instanceof Error && error.name === 'ZodError');
}

/** The code of a socket error, including one that fetch wraps as the cause. */
function networkCode(error: unknown): string | undefined {
  for (let e = error, depth = 0; e instanceof Error && depth < 4; e = e.cause, depth += 1) {
    if ('code' in e && typeof e.code === 'string') return e.code;
    if (e instanceof AggregateError && e.errors.length > 0) return networkCode(e.errors[0]);
  }
  return undefined;
}
