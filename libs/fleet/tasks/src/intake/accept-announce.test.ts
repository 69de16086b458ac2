import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CALLER, dispatching, inbound, profile, untilAborted } from '@hermes-fleet/gateway/testing';
import { announceOf } from '@hermes-fleet/peers/testing';
import { decodeAnnounce, encodeAnnounce } from '@hermes-fleet/protocol/handshake';
import { hasCode } from '@hermes-fleet/protocol/testing';

describe('the handshake', () => {
  const announcing = (agentId: string) => ({
    data: [{ data: encodeAnnounce(announceOf(agentId)), mediaType: 'application/json' }],
    contextId: 'handshake:hermes-neo',
  });

  it('answers an announce with our own, and records the peer', async (t) => {
    const neo = await profile(t, { agents: { switch: 9219 } });
    const reply = await neo.gateway.accept(inbound(announcing('switch')), { ...CALLER, name: 'switch' });
    assert.ok(reply.kind === 'reply' && reply.data);
    const announce = decodeAnnounce(reply.data);
    assert.equal(announce.worker.agentId, 'neo');
    assert.equal(announce.session.contextId, 'handshake:hermes-neo');
    assert.deepEqual(announce.mcpHealth, { memory: 'ok' });
    assert.deepEqual(announce.limits, {
      maxConcurrentTasks: 4,
      queueDepth: 100,
      queuedTasks: 0,
      freeSlots: 4,
    });
    assert.notEqual(neo.peers.get('switch')?.announce, undefined);
    assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 0);
  });

  it('answers an announce under another name with the reason, without recording it', async (t) => {
    const neo = await profile(t, { agents: { switch: 9219 } });
    const believed = await neo.gateway.accept(inbound(announcing('switch')), { ...CALLER, name: 'switch' });
    assert.ok(believed.kind === 'reply' && believed.remark === undefined);
    const other = await profile(t, { agents: { switch: 9219 } });
    const reply = await other.gateway.accept(inbound(announcing('switch')), CALLER);
    assert.ok(reply.kind === 'reply');
    assert.equal(decodeAnnounce(reply.data).worker.agentId, 'neo');
    assert.deepEqual(reply.remark, {
      accepted: false,
      reason: `${CALLER.name} may not speak for switch`,
    });
    assert.equal(other.peers.get('switch')?.announce, undefined);
  });

  it('answers an announce with an impossible seq with the reason, and believes the next one', async (t) => {
    const neo = await profile(t, { agents: { switch: 9219 } });
    const [part] = announcing('switch').data;
    const say = async (seq: number) => {
      const data = { ...part?.data, seq };
      const message = inbound({ data: [{ data, mediaType: undefined }], contextId: 'handshake:hermes-neo' });
      const reply = await neo.gateway.accept(message, { ...CALLER, name: 'switch' });
      assert.ok(reply.kind === 'reply');
      return reply.remark;
    };
    assert.equal(await say(1), undefined);
    const refused = await say(Number.MAX_SAFE_INTEGER);
    assert.equal(refused?.accepted, false);
    assert.match(String(refused?.reason), /^seq 9007199254740991 is too great for an instance that started/);
    assert.equal(await say(2), undefined);
    assert.equal(neo.peers.get('switch')?.announce?.seq, 2);
  });

  it('answers an announce with an instance_id that is no UUIDv7 with the field', async (t) => {
    const neo = await profile(t, { agents: { switch: 9219 } });
    const [part] = announcing('switch').data;
    const data = { ...part?.data, instance_id: 'zzzz' };
    const message = inbound({ data: [{ data, mediaType: undefined }], contextId: 'handshake:hermes-neo' });
    await assert.rejects(neo.gateway.accept(message, { ...CALLER, name: 'switch' }), {
      code: 'INVALID_PARAMS',
      message: 'SESSION_ANNOUNCE is not valid: instance_id: must be a UUIDv7',
    });
    assert.equal(neo.peers.get('switch')?.announce, undefined);
  });

  it('requires the scope announce', async (t) => {
    const neo = await profile(t);
    const reader = { name: 'reader', scopes: new Set(['read']) };
    await assert.rejects(neo.gateway.accept(inbound(announcing('reader')), reader), hasCode('FORBIDDEN'));
    const text = inbound({ text: 'hi', contextId: 'handshake:x' });
    await assert.rejects(neo.gateway.accept(text, reader), hasCode('FORBIDDEN'));
  });

  it('answers text in a handshake context with role, profile and readiness, and runs nothing', async (t) => {
    const neo = await profile(t);
    const message = inbound({ text: 'I am switch, the orchestrator', contextId: 'handshake:hermes-neo' });
    const reply = await neo.gateway.accept(message, CALLER);
    assert.ok(reply.kind === 'reply');
    assert.match(reply.text ?? '', /^role=agent profile=neo ready\n/);
    const said = decodeAnnounce(reply.data);
    assert.deepEqual(
      [said.worker.agentId, said.role, said.session.contextId, reply.contextId],
      ['neo', 'agent', 'handshake:hermes-neo', 'handshake:hermes-neo'],
    );
    assert.deepEqual(neo.runs, []);
    assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 0);
    assert.deepEqual(neo.peers.list(), [], 'text records no peer');
  });

  it('reports active tasks and a used session, and increases seq', async (t) => {
    const neo = await profile(t, { script: untilAborted });
    const before = neo.gateway.announce();
    assert.deepEqual([before.session.activeTasks, before.session.sessionFresh], [0, true]);
    await neo.event(await neo.send(dispatching()), 'started');
    const after = await neo.gateway.freshAnnounce();
    assert.deepEqual([after.session.activeTasks, after.session.sessionFresh], [1, false]);
    assert.ok((after.seq ?? 0) > (before.seq ?? 0));
    assert.equal(after.instanceId, before.instanceId);
  });
});
