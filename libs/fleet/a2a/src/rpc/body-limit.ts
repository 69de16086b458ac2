import { FleetError, isJsonObject, parseJson } from '@hermes-fleet/protocol';
import { bodyText } from '@hermes-fleet/service';

/** More than all the profiles that pass a dispatch on add to its request: its path, names and ids. */
export const RELAY_BYTES = 16_384;

/** More levels than a dispatch gains when it is passed on: it may have arrived as a text, or by `/mcp`. */
export const RELAY_LEVELS = 10;

export const bodyTooLarge = (limit: number): FleetError =>
  new FleetError('BODY_TOO_LARGE', `the body is larger than ${limit} bytes; send less`);

/**
 * Decodes a JSON body. Throws BODY_TOO_LARGE above the limit, except for a dispatch that other profiles pass on: what the
 * first profile accepted must not be too large for the next one.
 */
export function readBody(body: Buffer, limit: number): string {
  const text = bodyText(body);
  if (body.byteLength > limit && !isRelayedIn(text)) throw bodyTooLarge(limit);
  return text;
}

function isRelayedIn(text: string): boolean {
  const body = parseJson(text);
  return isJsonObject(body) && isRelayed(body.params);
}

/** True for the params of a request with a TASK_DISPATCH that has a `task.path`. */
export function isRelayed(params: unknown): boolean {
  const message = isJsonObject(params) ? params.message : undefined;
  const parts = isJsonObject(message) && Array.isArray(message.parts) ? message.parts : [];
  return parts.some((part) => {
    const data = isJsonObject(part) ? part.data : undefined;
    if (!isJsonObject(data) || data.type !== 'TASK_DISPATCH' || !isJsonObject(data.task)) return false;
    return Array.isArray(data.task.path) && data.task.path.length > 0;
  });
}
