import type { JsonObject } from '@hermes-fleet/protocol';
import { type InboundMessage, systemIds } from '@hermes-fleet/protocol/ports';

/** An empty message with the given fields. */
export function inbound(message: Partial<InboundMessage>): InboundMessage {
  return {
    messageId: systemIds.uuid(),
    contextId: undefined,
    taskId: undefined,
    text: '',
    data: [],
    raw: { messageId: 'm' },
    ...message,
  };
}

/** A message with a TASK_DISPATCH. */
export function dispatching(task: JsonObject = {}, rest: JsonObject = {}): Partial<InboundMessage> {
  const data = {
    type: 'TASK_DISPATCH',
    protocol_version: '2.0',
    task: { task_id: systemIds.uuid(), ...task },
    brief: 'do it',
    ...rest,
  };
  return { data: [{ data, mediaType: 'application/vnd.hermes.handshake+json' }] };
}
