import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  announceOf,
  CALLER,
  DONE,
  dispatching,
  inbound,
  profile,
  untilAborted,
} from '@hermes-fleet/fleet/testing';
import { decodeAnnounce, encodeAnnounce, FleetError, isJsonObject } from '@hermes-fleet/protocol';

const code = (wanted: string) => (error: unknown) => error instanceof FleetError && error.code === wanted;

describe('plain text', () => {
  it('is a prose task of normal priority', async (t) => {
    const neo = await profile(t, { script: async (task) => ({ ...DONE, text: task.dispatch.brief }) });
    const id = await neo.send({ text: 'hello there' });
    assert.equal((await neo.result(id)).text, 'hello there');
    const { task } = neo.task(id).dispatch;
    assert.ok(isJsonObject(task));
    assert.deepEqual([task.priority, task.reply_schema], ['normal', 'prose']);
    assert.notEqual(await neo.send({ text: 'hello there' }), id);
  });

  it('may say how in a hint block', async (t) => {
    const neo = await profile(t);
    const text = 'TASK DISPATCH (inline)\npriority: high\nrequired_mcp: [nope]\nBrief: go';
    assert.equal((await neo.result(await neo.send({ text }))).unmet?.[0]?.name, 'nope');
    const wrong = 'TASK DISPATCH (inline)\npriority: soon\nBrief: go';
    await assert.rejects(neo.send({ text: wrong }), code('INVALID_PARAMS'));
  });

  it('beside a data part that is none of ours is a task; under our media type it must be ours', async (t) => {
    const neo = await profile(t);
    const data = { type: 'SOMETHING' };
    assert.ok(await neo.send({ text: 'look', data: [{ data, mediaType: 'application/json' }] }));
    assert.ok(await neo.send({ text: 'look', data: [{ data, mediaType: 'image/png' }] }));
    const ours = { data, mediaType: 'application/vnd.hermes.handshake+json' };
    await assert.rejects(neo.send({ text: 'look', data: [ours] }), code('INVALID_PARAMS'));
  });

  for (const message of [{ text: '  ' }, { data: [{ data: { type: 'TASK_RESULT' }, mediaType: undefined }] }])
    it(`is needed, or a dispatch: ${JSON.stringify(message)}`, async (t) => {
      const neo = await profile(t);
      await assert.rejects(neo.send(message), code('INVALID_PARAMS'));
    });

  for (const odd of ['\ud800', Number.POSITIVE_INFINITY])
    it(`or a dispatch without a canonical form is refused, and leaves nothing: ${odd}`, async (t) => {
      const neo = await profile(t);
      await assert.rejects(neo.send(dispatching({ odd })), code('INVALID_PARAMS'));
      assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 0);
    });

  it('for a task that is there is answered with what to do', async (t) => {
    const neo = await profile(t, { script: untilAborted });
    const id = await neo.send({ text: 'hello' });
    await assert.rejects(neo.send({ text: 'more', taskId: id }), code('UNSUPPORTED_OPERATION'));
    await assert.rejects(
      neo.send({ text: 'more', taskId: id, contextId: 'other' }),
      code('CONTEXT_MISMATCH'),
    );
    await assert.rejects(neo.send({ text: 'more', taskId: 'nobody' }), code('TASK_NOT_FOUND'));
  });
});

describe('a dispatch is found', () => {
  for (const mediaType of [
    undefined,
    'application/json',
    'application/vnd.hermes.handshake+json',
    'Application/JSON; charset=utf-8',
  ])
    it(`under the media type ${mediaType ?? 'that is not said'}`, async (t) => {
      const neo = await profile(t);
      const [part] = dispatching({ task_id: 'found' }).data ?? [];
      const id = await neo.send({ text: 'words', data: [{ data: part?.data ?? null, mediaType }] });
      assert.equal(neo.task(id).key, 'found');
    });
});

describe('the handshake', () => {
  const announcing = (agentId: string) => ({
    data: [{ data: encodeAnnounce(announceOf(agentId)), mediaType: 'application/json' }],
    contextId: 'handshake:hermes-neo',
  });

  it('answers an announce with our own, and keeps the peer', async (t) => {
    const neo = await profile(t, { agents: { switch: 9219 } });
    const reply = await neo.gateway.accept(inbound(announcing('switch')), { ...CALLER, name: 'switch' });
    assert.ok(reply.kind === 'reply' && reply.data);
    const announce = decodeAnnounce(reply.data);
    assert.equal(announce.worker.agentId, 'neo');
    assert.equal(announce.session.contextId, 'handshake:hermes-neo');
    assert.deepEqual(announce.mcpHealth, { memory: 'ok' });
    assert.deepEqual(announce.limits, { maxConcurrentTasks: 4, queueDepth: 100, queuedTasks: 0 });
    assert.notEqual(neo.peers.get('switch')?.announce, undefined);
    assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 0);
  });

  it('answers one that claims to be somebody else, and does not believe it', async (t) => {
    const neo = await profile(t, { agents: { switch: 9219 } });
    const reply = await neo.gateway.accept(inbound(announcing('switch')), CALLER);
    assert.equal(reply.kind, 'reply');
    assert.equal(neo.peers.get('switch')?.announce, undefined);
  });

  it('needs the scope announce', async (t) => {
    const neo = await profile(t);
    const reader = { name: 'reader', scopes: new Set(['read']) };
    await assert.rejects(neo.gateway.accept(inbound(announcing('reader')), reader), code('FORBIDDEN'));
    const text = inbound({ text: 'hi', contextId: 'handshake:x' });
    await assert.rejects(neo.gateway.accept(text, reader), code('FORBIDDEN'));
  });

  it('answers words on a handshake context with role, profile and readiness, and runs nothing', async (t) => {
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
    assert.deepEqual(neo.peers.list(), [], 'words claim nothing: nobody is recorded');
  });

  it('says what is running, that the session is not fresh any more, and counts on', async (t) => {
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
