import { Message } from '@a2a-js/sdk';
import { FleetError, type InboundMessage, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';

/**
 * A message of the wire as the intake takes it. `raw` is the JSON that arrived; for A2A 0.3 its 1.0 form. Files are
 * refused with CONTENT_TYPE_NOT_SUPPORTED: nothing here would read them.
 */
export function toInbound(
  message: Message,
  raw: JsonObject | undefined,
  traceparent: string,
): InboundMessage {
  const texts: string[] = [];
  const data: InboundMessage['data'][number][] = [];
  message.parts.forEach(({ content, mediaType }, index) => {
    if (content?.$case === 'text') texts.push(content.value);
    else if (content?.$case === 'data') data.push({ data: content.value, mediaType: mediaType || undefined });
    else throw fileRefused(index);
  });
  return {
    messageId: message.messageId,
    contextId: message.contextId || undefined,
    taskId: message.taskId || undefined,
    text: texts.join('\n'),
    data,
    raw: raw ?? toRaw(message),
    traceparent,
  };
}

function fileRefused(index: number): FleetError {
  const path = `message.parts[${index}]`;
  const reason = 'is a file; send text or data';
  return new FleetError('CONTENT_TYPE_NOT_SUPPORTED', `${path} ${reason}`, { fields: [{ path, reason }] });
}

function toRaw(message: Message): JsonObject {
  const raw = Message.toJSON(message);
  return isJsonObject(raw) ? raw : {};
}
