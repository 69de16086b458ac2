import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { parseBody } from '@hermes-fleet/service';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Reads a body with one JSON-RPC message. Throws PARSE_ERROR, and INVALID_REQUEST for a batch and for other JSON. Its
 * nesting is still to be checked.
 */
export function readMcpMessage(text: string): JsonObject {
  const body = parseBody(text);
  if (Array.isArray(body))
    throw new FleetError('INVALID_REQUEST', 'batches are not supported; send one message at a time');
  if (!isJsonObject(body)) throw new FleetError('INVALID_REQUEST', 'the body is not a JSON-RPC message');
  return body;
}

/** The id of a JSON-RPC message; null for one without a usable id. */
export function messageId(value: unknown): string | number | null {
  return typeof value === 'string' || typeof value === 'number' ? value : null;
}

/** The headers of a request that the SDK reads. */
export function sentHeaders({ headers }: Pick<FastifyRequest, 'headers'>): Headers {
  const kept = new Headers();
  for (const name of ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name']) {
    const value = headers[name];
    if (value !== undefined) kept.set(name, String(value));
  }
  return kept;
}

/** A JSON-RPC error response whose `data.reason` is the code in the error catalog (docs/handshake.md#errors). */
export function errorText(
  id: string | number | null,
  { jsonrpcCode: code, code: reason, message }: FleetError,
): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data: { reason } } });
}

/** Sends a JSON text; an empty one has no content type. */
export function sendText(reply: FastifyReply, status: number, text: string): FastifyReply {
  reply.code(status);
  return text === '' ? reply.send() : reply.type('application/json; charset=utf-8').send(text);
}
