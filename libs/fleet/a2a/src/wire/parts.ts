import { type Artifact, type Message, type Part, Role } from '@a2a-js/sdk';
import { HANDSHAKE_EXTENSION, HANDSHAKE_MEDIA_TYPE, type JsonObject } from '@hermes-fleet/protocol';

export const partOf = (content: NonNullable<Part['content']>, mediaType: string, filename = ''): Part => ({
  content,
  metadata: undefined,
  filename,
  mediaType,
});

export const textPart = (text: string): Part => partOf({ $case: 'text', value: text }, 'text/plain');

/** The data part that carries a handshake message (docs/handshake.md). */
export const handshakePart = (data: JsonObject): Part =>
  partOf({ $case: 'data', value: data }, HANDSHAKE_MEDIA_TYPE);

/** An artifact, which is named as its id unless `more` says otherwise. */
export const artifactOf = (
  artifactId: string,
  parts: Part[],
  more: Partial<Pick<Artifact, 'name' | 'description' | 'extensions'>> = {},
): Artifact => ({
  artifactId,
  name: artifactId,
  description: '',
  parts,
  metadata: undefined,
  extensions: [],
  ...more,
});

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
      ...(options.remark === undefined
        ? []
        : [partOf({ $case: 'data', value: options.remark }, 'application/json')]),
      ...(options.text === undefined ? [] : [textPart(options.text)]),
    ],
    metadata: undefined,
    extensions: options.data === undefined ? [] : [HANDSHAKE_EXTENSION],
    referenceTaskIds: [],
  };
}
