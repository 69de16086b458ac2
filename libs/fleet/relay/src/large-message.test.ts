import assert from 'node:assert/strict';
import { it } from 'node:test';
import { asking, DONE, dispatching, relayFleet, rpc } from '@hermes-fleet/gateway/testing';
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

it('a dispatch of the most levels is accepted by the worker too, although as a data part it has more', async (t) => {
  const { orchestrator, worker } = await relayFleet(t, { neo: { script: async () => DONE } });
  await orchestrator.serve();
  const send = (levels: number) => {
    const deep = '['.repeat(levels - 1) + ']'.repeat(levels - 1);
    const text = `{"type":"TASK_DISPATCH","protocol_version":"2.0","task":{"task_id":"deep"},"brief":"go","deep":${deep}}`;
    return rpc(orchestrator, 'SendMessage', {
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }] },
    });
  };
  const { error } = await send(101);
  assert.ok(isJsonObject(error) && /nested deeper than 100 levels/.test(String(error.message)));
  assert.match(JSON.stringify(await send(100)), /"TASK_STATE_COMPLETED"/);
  assert.equal(worker('neo').runs.length, 1);
});

it('an answer of exactly the maximum size reaches the worker too', async (t) => {
  const { orchestrator } = await relayFleet(t, { neo: { script: asking('Which room?') } });
  await orchestrator.serve();
  const taskId = await orchestrator.send(dispatching());
  await orchestrator.event(taskId, 'input_required');
  const answer = (text: string, messageId: string) =>
    rpc(orchestrator, 'SendMessage', {
      message: { messageId, taskId, role: 'ROLE_USER', parts: [{ text }] },
    });
  // Each letter is two bytes of JSON, and the string has two quotes.
  const longest = '"'.repeat((LIMIT - 16_384 - 2) / 2);
  const { error } = await answer(`${longest}x`, 'm-1');
  assert.ok(isJsonObject(error) && /bytes as one JSON string/.test(String(error.message)));
  const sent = JSON.stringify(await answer(longest, '\u0001'.repeat(200)));
  assert.match(sent, /"TASK_STATE_COMPLETED"/);
  assert.equal((await orchestrator.result(taskId)).text, longest);
});
