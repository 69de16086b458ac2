import type { FleetError } from '@hermes-fleet/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';

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
