import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { parseBody } from '@hermes-fleet/service';

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
