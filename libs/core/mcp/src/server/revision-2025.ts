import type { JsonObject } from '@hermes-fleet/protocol';
import {
  classifyInboundRequest,
  type JSONRPCErrorResponse,
  ProtocolError,
  ResourceNotFoundError,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

/**
 * True for a message of a client that speaks a revision of 2025: it began with `initialize`, and cancels a call with
 * `notifications/cancelled`. Since the revision 2026-07-28 every request describes its client itself, and a client cancels a
 * call by closing its stream.
 */
export function isOf2025(message: JsonObject, headers: Headers): boolean {
  const { kind } = classifyInboundRequest({
    httpMethod: 'POST',
    body: message,
    protocolVersionHeader: headers.get('mcp-protocol-version') ?? undefined,
    mcpMethodHeader: headers.get('mcp-method') ?? undefined,
    mcpNameHeader: headers.get('mcp-name') ?? undefined,
  });
  return kind === 'legacy';
}

/** The code of a resource that does not exist (https://modelcontextprotocol.io/specification/2025-11-25/server/resources). */
const RESOURCE_NOT_FOUND = -32002;

/**
 * The SDK's transport for the revisions of 2025, with their own code for a resource that does not exist. The SDK's server
 * replaces that code with the one of 2026-07-28 on every revision.
 */
export class Transport2025 extends WebStandardStreamableHTTPServerTransport {
  override send(...[message, options]: Parameters<Send>): ReturnType<Send> {
    if (!('error' in message) || !isNotFound(message.error)) return super.send(message, options);
    const data = { ...Object(message.error.data), reason: 'NOT_FOUND' };
    const error = { ...message.error, code: RESOURCE_NOT_FOUND, data };
    return super.send({ ...message, error }, options);
  }
}

type Send = WebStandardStreamableHTTPServerTransport['send'];

const isNotFound = ({ code, message, data }: JSONRPCErrorResponse['error']): boolean =>
  ProtocolError.fromError(code, message, data) instanceof ResourceNotFoundError;
