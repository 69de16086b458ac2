import { FleetError, isJsonObject } from '@hermes-fleet/protocol';
import { bodyText } from './envelope.ts';

/** More than all the profiles that pass a dispatch on add to its request: its path, names and ids. */
export const RELAY_BYTES = 16_384;

export const bodyTooLarge = (limit: number): FleetError =>
  new FleetError('BODY_TOO_LARGE', `the body is larger than ${limit} bytes; send less`);

/**
 * Decodes a JSON body. Throws BODY_TOO_LARGE above the limit, except for a dispatch that other profiles pass on: what the
 * first profile accepted must not be too large for the next one.
 */
export function readBody(body: Buffer, limit: number): string {
  const text = bodyText(body);
  if (body.byteLength > limit && !isRelayed(text)) throw bodyTooLarge(limit);
  return text;
}

/** True for a request with a TASK_DISPATCH that has a `task.path`. */
function isRelayed(text: string): boolean {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return false;
  }
  const params = isJsonObject(body) ? body.params : undefined;
  const message = isJsonObject(params) ? params.message : undefined;
  const parts = isJsonObject(message) && Array.isArray(message.parts) ? message.parts : [];
  return parts.some((part) => {
    const data = isJsonObject(part) ? part.data : undefined;
    if (!isJsonObject(data) || data.type !== 'TASK_DISPATCH' || !isJsonObject(data.task)) return false;
    return Array.isArray(data.task.path) && data.task.path.length > 0;
  });
}
