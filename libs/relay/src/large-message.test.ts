import assert from 'node:assert/strict';
import { it } from 'node:test';
import { DONE, relayFleet, rpc } from '@hermes-fleet/fleet/testing';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';

/** The default of a profile. */
const LIMIT = 1_048_576;

/** A dispatch with the longest id: in JSON, six bytes for each character. */
function dispatch(padding: number): JsonObject {
  const data: JsonObject = {
    type: 'TASK_DISPATCH',
    protocol_version: '2.0',
    task: { task_id: '\u0001'.repeat(200) },
    brief: 'go',
    padding: 'x'.repeat(padding),
  };
  const parts = [{ data, mediaType: 'application/vnd.hermes.handshake+json' }];
  return { message: { messageId: 'm', role: 'ROLE_USER', parts } };
}

it('a message of exactly the maximum size is accepted by the worker too, although relaying adds to it', async (t) => {
  const { orchestrator, worker } = await relayFleet(t, { neo: { script: async () => DONE } });
  await orchestrator.serve();
  const send = (padding: number) => rpc(orchestrator, 'SendMessage', dispatch(padding));
  const envelope = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: dispatch(0) };
  const padding = LIMIT - JSON.stringify(envelope).length;
  const { error } = await send(padding + 1);
  assert.ok(isJsonObject(error) && error.message === `the body is larger than ${LIMIT} bytes; send less`);
  const answer = JSON.stringify(await send(padding));
  assert.match(answer, /"TASK_STATE_COMPLETED"/);
  assert.equal(worker('neo').runs.length, 1);
});
