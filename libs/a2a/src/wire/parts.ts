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
  return {
    content: { $case: 'data', value: data },
    metadata: undefined,
    filename: '',
    mediaType: HANDSHAKE_MEDIA_TYPE,
  };
}

export function agentMessage(options: {
  messageId: string;
  contextId: string;
  taskId?: string;
  text?: string;
  data?: JsonObject;
}): Message {
  return {
    messageId: options.messageId,
    contextId: options.contextId,
    taskId: options.taskId ?? '',
    role: Role.ROLE_AGENT,
    parts: [
      ...(options.data === undefined ? [] : [handshakePart(options.data)]),
      ...(options.text === undefined ? [] : [textPart(options.text)]),
    ],
    metadata: undefined,
    extensions: options.data === undefined ? [] : [HANDSHAKE_EXTENSION],
    referenceTaskIds: [],
  };
}
