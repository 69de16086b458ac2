import { type Message, type Part, Role } from '@a2a-js/sdk';
import { HANDSHAKE_EXTENSION, HANDSHAKE_MEDIA_TYPE, type JsonObject } from '@hermes-fleet/protocol';

export function textPart(text: string): Part {
  return {
    content: { $case: 'text', value: text },
    metadata: undefined,
    filename: '',
    mediaType: 'text/plain',
  };
}

/** The data part that carries a handshake message (docs/handshake.md). */
export function handshakePart(data: JsonObject): Part {
  return dataPart(data, HANDSHAKE_MEDIA_TYPE);
}

function dataPart(data: JsonObject, mediaType: string): Part {
  return { content: { $case: 'data', value: data }, metadata: undefined, filename: '', mediaType };
}

export function agentMessage(options: {
  messageId: string;
  contextId: string;
  taskId?: string;
  text?: string;
  /** A handshake message. */
  data?: JsonObject;
  /** Any other data. */
  remark?: JsonObject;
}): Message {
  return {
    messageId: options.messageId,
    contextId: options.contextId,
    taskId: options.taskId ?? '',
    role: Role.ROLE_AGENT,
    parts: [
      ...(options.data === undefined ? [] : [handshakePart(options.data)]),
      ...(options.remark === undefined ? [] : [dataPart(options.remark, 'application/json')]),
      ...(options.text === undefined ? [] : [textPart(options.text)]),
    ],
    metadata: undefined,
    extensions: options.data === undefined ? [] : [HANDSHAKE_EXTENSION],
    referenceTaskIds: [],
  };
}
