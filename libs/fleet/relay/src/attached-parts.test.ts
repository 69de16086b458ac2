import assert from 'node:assert/strict';
import { it } from 'node:test';
import { DONE, dispatching, relayFleet as fleet, PREFERRED_FIRST } from '@hermes-fleet/gateway/testing';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { InboundMessage, MessagePart } from '@hermes-fleet/protocol/ports';
import { delegation } from '../testing/prose-script.ts';
import { scriptedPeer } from '../testing/scripted-peer.ts';
import { cancelAtPeer } from './delegation/cancel-delegation.ts';

const FILE: JsonObject = { raw: 'aGk=', filename: 'hi.txt', mediaType: 'text/plain' };
const ADDRESS: JsonObject = { url: 'https://files.example/x.pdf', mediaType: 'application/pdf' };

function withFiles(...files: JsonObject[]): Partial<InboundMessage> {
  const { data = [] } = dispatching({ task_id: 'abc' });
  const raw = { messageId: 'm', role: 'ROLE_USER', parts: [{ data: data[0]?.data ?? null }, ...files] };
  return { data, raw };
}

it('files go on to the peer as they came, and reach its executor', async (t) => {
  let parts: readonly MessagePart[] = [];
  const { orchestrator } = await fleet(t, {
    neo: {
      script: async (task) => {
        parts = task.parts;
        return DONE;
      },
    },
  });
  const id = await orchestrator.send(withFiles(FILE, ADDRESS));
  assert.equal((await orchestrator.result(id)).status, 'done');
  assert.deepEqual(parts, [
    { index: 1, kind: 'file', bytes: 'aGk=', filename: 'hi.txt', mediaType: 'text/plain' },
    { index: 2, kind: 'file', url: 'https://files.example/x.pdf', mediaType: 'application/pdf' },
  ]);
});

it('a peer whose card does not offer the type of a file refuses the task, and the next one gets it', async (t) => {
  const { neo, trinity } = PREFERRED_FIRST;
  const refusing = { ...neo, fleet: { files: { media_types: [] } } };
  const { orchestrator, worker } = await fleet(t, { neo: refusing, trinity });
  const id = await orchestrator.send(withFiles(ADDRESS));
  const result = await orchestrator.result(id);
  assert.deepEqual([result.status, result.executedBy], ['done', 'trinity'], JSON.stringify(result));
  assert.equal(worker('neo').runs.length, 0);
});

it('the copy by which an unknown task is looked for at its peer has them too, or it would be another dispatch', async (t) => {
  const peer = await scriptedPeer(t, [['SendMessage', { error: { code: -32001, message: 'no' } }]]);
  const parts: MessagePart[] = [{ index: 1, kind: 'data', data: { order: 7 } }];
  await cancelAtPeer({ ...peer.options, parts }, { ...delegation, prose: false });
  const message = peer.calls[0]?.params.message;
  assert.ok(isJsonObject(message) && Array.isArray(message.parts));
  assert.deepEqual(message.parts[1], { data: { order: 7 } });
});
