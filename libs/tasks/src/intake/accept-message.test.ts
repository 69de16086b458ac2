import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DONE, dispatching, profile, untilAborted } from '@hermes-fleet/fleet/testing';
import { isJsonObject } from '@hermes-fleet/protocol';
import { hasCode } from '@hermes-fleet/protocol/testing';

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

  it('may have a block of hints', async (t) => {
    const neo = await profile(t);
    const text = 'TASK DISPATCH (inline)\npriority: high\nrequired_mcp: [nope]\nBrief: go';
    assert.equal((await neo.result(await neo.send({ text }))).unmet?.[0]?.name, 'nope');
    const wrong = 'TASK DISPATCH (inline)\npriority: soon\nBrief: go';
    await assert.rejects(neo.send({ text: wrong }), hasCode('INVALID_PARAMS'));
  });

  it('beside an unknown data part is a task, and our media type requires a handshake message', async (t) => {
    const neo = await profile(t);
    const data = { type: 'SOMETHING' };
    assert.ok(await neo.send({ text: 'look', data: [{ data, mediaType: 'application/json' }] }));
    assert.ok(await neo.send({ text: 'look', data: [{ data, mediaType: 'image/png' }] }));
    const ours = { data, mediaType: 'application/vnd.hermes.handshake+json' };
    await assert.rejects(neo.send({ text: 'look', data: [ours] }), hasCode('INVALID_PARAMS'));
  });

  for (const message of [{ text: '  ' }, { data: [{ data: { type: 'TASK_RESULT' }, mediaType: undefined }] }])
    it(`is required if there is no dispatch: ${JSON.stringify(message)}`, async (t) => {
      const neo = await profile(t);
      await assert.rejects(neo.send(message), hasCode('INVALID_PARAMS'));
    });

  for (const odd of ['\ud800', Number.POSITIVE_INFINITY])
    it(`and a dispatch without a canonical form are refused without a trace: ${odd}`, async (t) => {
      const neo = await profile(t);
      await assert.rejects(neo.send(dispatching({ odd })), hasCode('INVALID_PARAMS'));
      assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 0);
    });

  it('for a task without a question is refused with the remedy', async (t) => {
    const neo = await profile(t, { script: untilAborted });
    const id = await neo.send({ text: 'hello' });
    await assert.rejects(neo.send({ text: 'more', taskId: id }), hasCode('UNSUPPORTED_OPERATION'));
    await assert.rejects(
      neo.send({ text: 'more', taskId: id, contextId: 'other' }),
      hasCode('CONTEXT_MISMATCH'),
    );
    await assert.rejects(neo.send({ text: 'more', taskId: 'nobody' }), hasCode('TASK_NOT_FOUND'));
  });
});

describe('a dispatch is recognized', () => {
  for (const mediaType of [
    undefined,
    'application/json',
    'application/vnd.hermes.handshake+json',
    'Application/JSON; charset=utf-8',
  ])
    it(`under ${mediaType ?? 'no media type'}`, async (t) => {
      const neo = await profile(t);
      const [part] = dispatching({ task_id: 'found' }).data ?? [];
      const id = await neo.send({ text: 'words', data: [{ data: part?.data ?? null, mediaType }] });
      assert.equal(neo.task(id).key, 'found');
    });
});
