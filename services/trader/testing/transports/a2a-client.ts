import assert from 'node:assert/strict';
import { createA2AClient, type PeerTask } from '@hermes-fleet/a2a';
import type { JsonObject } from '@hermes-fleet/protocol';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { type OpenTransports, tokenOf } from './transports.ts';

export const client = createA2AClient({ clock: systemClock, log: silentLog, extensions: [] });
export const peer = ({ url }: OpenTransports, as = 'operator') => ({
  name: 'trader',
  url: `${url}/jsonrpc`,
  token: tokenOf(as),
});
export const IN_TIME = { timeoutMs: 30_000 };
export const deciding = (payload: JsonObject, messageId = systemIds.uuid()) => ({
  messageId,
  data: { type: 'CONTROL_DECISION', payload },
  blocking: true,
});

/** The finished task of a decision. */
export async function taskOf(
  transports: OpenTransports,
  payload: JsonObject,
  messageId?: string,
): Promise<PeerTask> {
  const reply = await client.send(peer(transports), deciding(payload, messageId), IN_TIME);
  assert.ok(reply.kind === 'task');
  return reply.task;
}

export const message = (parts: unknown[], more: object = {}): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message: { messageId: systemIds.uuid(), role: 'ROLE_USER', parts, ...more } },
  });
export const part = (payload: unknown): object => ({ data: { type: 'CONTROL_DECISION', payload } });
