import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { TimeoutError } from './deadline.ts';

const MAX_TEXT = 200;

const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'host name could not be resolved',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'the network timed out',
  EPIPE: 'the server closed its input',
  UND_ERR_SOCKET: 'connection closed by the server',
};

/** A server that can't be used: what happened, fit for a caller to read. */
export class ServerFailure extends Error {
  override readonly name = 'ServerFailure';
}

/** The server's own JSON-RPC error: it is there and answered. */
export function isAnswer(error: unknown): error is McpError {
  return (
    error instanceof McpError &&
    error.code !== ErrorCode.ConnectionClosed &&
    error.code !== ErrorCode.RequestTimeout
  );
}

/** Whether an HTTP server no longer knows the session: nothing was done, and a new session may be opened. */
export function isSessionLost(error: unknown): boolean {
  return error instanceof StreamableHTTPError && error.code === 404;
}

/** `timeout` is what a deadline ended; everything else is `error`. The detail holds no path, header or output. */
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
  if (error instanceof McpError) return 'connection closed';
  if (error instanceof StreamableHTTPError) {
    return error.code !== undefined && error.code > 0
      ? `answered with HTTP status ${error.code}`
      : 'answered with something that is not MCP';
  }
  if (error instanceof SyntaxError || (error instanceof Error && error.name === 'ZodError')) {
    return 'answered with something that is not MCP';
  }
  const code = networkCode(error);
  if (code !== undefined) return NETWORK[code] ?? `network error ${code}`;
  return error instanceof Error ? oneLine(error.message) : 'unknown failure';
}

/** The code of a socket error, also where fetch wraps it as the cause. */
function networkCode(error: unknown): string | undefined {
  for (let e = error, depth = 0; e instanceof Error && depth < 4; e = e.cause, depth += 1) {
    if ('code' in e && typeof e.code === 'string') return e.code;
    if (e instanceof AggregateError && e.errors.length > 0) return networkCode(e.errors[0]);
  }
  return undefined;
}

/** A text of somebody else's, short and on one line. */
export const oneLine = (text: string): string => text.replace(/\s+/g, ' ').slice(0, MAX_TEXT);
