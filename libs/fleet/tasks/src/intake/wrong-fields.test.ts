import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { profile, sendHandshake, violations } from '@hermes-fleet/gateway/testing';
import { isJsonObject } from '@hermes-fleet/protocol';
import { SessionAnnounceWire, TaskDispatchWire } from '@hermes-fleet/protocol/handshake';
import { allWrong } from '../../../../../test/support/wrong-fields.ts';

describe('an HTTP response', () => {
  for (const [type, schema] of [
    ['SESSION_ANNOUNCE', SessionAnnounceWire],
    ['TASK_DISPATCH', TaskDispatchWire],
  ] as const)
    it(`names every invalid field of a ${type}`, async (t) => {
      const neo = await profile(t);
      await neo.serve();
      const { value, fields } = allWrong(schema);
      assert.ok(isJsonObject(value));
      const { error } = await sendHandshake(neo, { ...value, type });
      assert.ok(isJsonObject(error ?? null));
      const { code, data } = error as { code: number; data: { '@type': string; reason: string }[] };
      assert.equal(code, -32602);
      assert.deepEqual(
        data.map((each) => each['@type']),
        ['type.googleapis.com/google.rpc.ErrorInfo', 'type.googleapis.com/google.rpc.BadRequest'],
      );
      assert.equal(data[0]?.reason, 'INVALID_PARAMS');
      const named = violations({ error: error ?? null });
      assert.deepEqual([...named.keys()].sort(), fields.filter((field) => field !== 'type').toSorted());
      assert.ok(named.size > 20 && [...named.values()].every((reason) => reason.length > 3));
      assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 0);
      assert.deepEqual(neo.peers.list(), []);
    });

  it('names the unknown type of a handshake part', async (t) => {
    const neo = await profile(t);
    await neo.serve();
    for (const type of ['TASK_DISPATCHED', 7, null]) {
      const reply = await sendHandshake(neo, { type, protocol_version: '2.0' });
      assert.deepEqual([...violations(reply).keys()], ['data.type']);
    }
  });
});
