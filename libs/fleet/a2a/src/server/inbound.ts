import { Message } from '@a2a-js/sdk';
import { isJsonObject, type JsonObject, type JsonValue, jsonAt } from '@hermes-fleet/protocol';
import type { InboundMessage } from '@hermes-fleet/protocol/ports';
import { checkParts } from './accepted-parts.ts';

/** The request that a message came in. */
export interface Origin {
  /** The body as it arrived. */
  readonly text: string;
  /** `params.message` as it arrived; undefined for A2A 0.3. */
  readonly rawMessage: JsonObject | undefined;
  readonly traceparent: string;
}

/**
 * Converts a wire message for the intake. `raw` is the JSON as it arrived, for A2A 0.3 its 1.0 form. Throws as
 * `checkParts` for parts that are not accepted.
 */
export function toInbound(message: Message, origin: Origin, modes: () => readonly string[]): InboundMessage {
  checkParts(message.parts, origin, modes);
  const texts: string[] = [];
  const data: InboundMessage['data'][number][] = [];
  message.parts.forEach(({ content, mediaType }, index) => {
    if (content?.$case === 'text') texts.push(content.value);
    else if (content?.$case === 'data')
      data.push(dataPart(content.value, mediaType || undefined, origin.text, index));
  });
  return {
    messageId: message.messageId,
    contextId: message.contextId || undefined,
    taskId: message.taskId || undefined,
    text: texts.join('\n'),
    data,
    raw: origin.rawMessage ?? toRaw(message),
    traceparent: origin.traceparent,
  };
}

/** A data part, whose raw text is located when it is read, since few need it; it has the same path in both A2A versions. */
const dataPart = (data: JsonValue, mediaType: string | undefined, body: string, index: number) => ({
  data,
  mediaType,
  get text() {
    return jsonAt(body, ['params', 'message', 'parts', index, 'data']);
  },
});

function toRaw(message: Message): JsonObject {
  const raw = Message.toJSON(message);
  return isJsonObject(raw) ? raw : {};
}
