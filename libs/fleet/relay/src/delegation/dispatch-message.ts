import type { OutboundMessage } from '@hermes-fleet/a2a';
import { isJsonObject } from '@hermes-fleet/protocol';
import type { MessagePart } from '@hermes-fleet/protocol/ports';
import type { Delegation } from './delegation.ts';

/** The message with the dispatch and its data and files. `acceptUntil` is by the peer's clock, ms since the epoch. */
export function dispatchMessage(
  { messageId, contextId, payload }: Pick<Delegation, 'messageId' | 'contextId' | 'payload'>,
  parts: readonly MessagePart[],
  acceptUntil: number | undefined,
): OutboundMessage {
  if (acceptUntil === undefined) return { messageId, contextId, data: payload, parts, blocking: false };
  const routing = isJsonObject(payload.routing) ? payload.routing : {};
  const data = { ...payload, routing: { ...routing, accept_until: new Date(acceptUntil).toISOString() } };
  return { messageId, contextId, data, parts, blocking: false };
}
