import { isDeepStrictEqual } from 'node:util';
import {
  HANDSHAKE_MEDIA_TYPE,
  invalidParams,
  isNestedDeeper,
  type JsonObject,
  MAX_NESTING,
  parseJson,
} from '@hermes-fleet/protocol';
import {
  bareMediaType,
  type InboundMessage,
  isHandshakeObject,
  mayHoldHandshake,
} from '@hermes-fleet/protocol/ports';

/**
 * Finds the handshake object of a message: the first one among its data parts, else its whole text
 * (docs/handshake.md#parts). Other data parts are content, unless they have our media type. Throws INVALID_PARAMS if the
 * message has a TASK_DISPATCH beside it, which would be lost.
 */
export function handshakeObject(message: InboundMessage): JsonObject | undefined {
  const parts = objectsInParts(message);
  const written = objectInText(message);
  const isCopy = parts.some((part) => isDeepStrictEqual(part, written));
  const [first, ...others] = written === undefined || isCopy ? parts : [...parts, written];
  if (others.some(({ type }) => type === 'TASK_DISPATCH'))
    throw invalidParams(
      'message.parts',
      'has a TASK_DISPATCH beside another handshake object: send one in a message',
    );
  return first;
}

function objectsInParts(message: InboundMessage): JsonObject[] {
  const found: JsonObject[] = [];
  for (const { data, mediaType } of message.data) {
    if (!mayHoldHandshake(mediaType)) continue;
    const ours = mediaType !== undefined && bareMediaType(mediaType) === HANDSHAKE_MEDIA_TYPE;
    if (isHandshakeObject(data)) found.push(data);
    else if (ours && found.length === 0)
      throw invalidParams('data.type', 'must be SESSION_ANNOUNCE or TASK_DISPATCH');
  }
  return found;
}

/** The text of a message to a task is an answer, whatever it holds. */
function objectInText({ text, taskId }: InboundMessage): JsonObject | undefined {
  const whole = text.trim();
  if (taskId !== undefined || !whole.startsWith('{') || !whole.endsWith('}')) return undefined;
  const value = parseJson(whole);
  if (!isHandshakeObject(value)) return undefined;
  if (isNestedDeeper(value))
    throw invalidParams('message.parts', `has JSON that is nested deeper than ${MAX_NESTING} levels`);
  return value;
}
