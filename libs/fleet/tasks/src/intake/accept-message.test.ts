import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CALLER, DONE, dispatching, inbound, profile, untilAborted } from '@hermes-fleet/gateway/testing';
import { announceOf } from '@hermes-fleet/peers/testing';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { encodeAnnounce } from '@hermes-fleet/protocol/handshake';
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

  for (const block of ['priority: high\ntoken_budget: 4000', 'priority: high\nBrief:', 'task: tidy up'])
    it(`with a block of hints without a brief is refused, and says so: ${JSON.stringify(block)}`, async (t) => {
      const neo = await profile(t);
      await assert.rejects(neo.send({ text: `TASK DISPATCH (inline)\n${block}` }), {
        code: 'INVALID_PARAMS',
        message: /^brief is missing: .* `Brief:`/,
      });
      assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 0);
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

  it('as the whole text, with every condition in it', async (t) => {
    const neo = await profile(t);
    const wire = dispatching({ task_id: 'found' }, { deadline: '2020-01-01T00:00:00Z' }).data?.[0]?.data;
    const id = await neo.send({ text: `\n${JSON.stringify(wire, null, 2)} ` });
    assert.equal(neo.task(id).key, 'found');
    assert.deepEqual((await neo.result(id)).unmet?.[0]?.kind, 'deadline');
    assert.deepEqual(neo.runs, []);
  });

  it('as a text that repeats the data part', async (t) => {
    const neo = await profile(t);
    const data = dispatching({ task_id: 'found' }).data ?? [];
    const id = await neo.send({ text: JSON.stringify(data[0]?.data), data });
    assert.equal(neo.task(id).key, 'found');
  });

  it('but not in a text that says more, or that is other JSON', async (t) => {
    const neo = await profile(t);
    const wire = JSON.stringify(dispatching({ task_id: 'found' }).data?.[0]?.data);
    for (const text of [`Do this: ${wire}`, `[${wire}]`, '{"type": "SOMETHING"}', `${wire.slice(0, -1)},}`])
      assert.equal(neo.task(await neo.send({ text })).dispatch.brief, text);
  });
});

describe('a handshake object as the whole text', () => {
  const written = (wire: unknown) => inbound({ text: JSON.stringify(wire) });

  it('that is an announce is answered with ours, and recorded', async (t) => {
    const neo = await profile(t, { agents: { switch: 9219 } });
    const said = written(encodeAnnounce(announceOf('switch')));
    const reply = await neo.gateway.accept(said, { ...CALLER, name: 'switch' });
    assert.ok(reply.kind === 'reply' && reply.data);
    assert.notEqual(neo.peers.get('switch')?.announce, undefined);
    assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 0);
  });

  it('that is a result, is invalid or too deep, is refused without a trace', async (t) => {
    const neo = await profile(t);
    const deep = (levels: number) =>
      `{"type": "TASK_DISPATCH", "brief": ${'['.repeat(levels)}${']'.repeat(levels)}}`;
    for (const [text, words] of [
      ['{"type": "TASK_RESULT"}', /a TASK_RESULT is an answer/],
      ['{"type": "TASK_DISPATCH"}', /^TASK_DISPATCH is not valid: .*brief: /],
      [deep(101), /nested deeper than 100 levels/],
      [deep(200_000), /nested deeper than 100 levels/],
    ] as const)
      await assert.rejects(neo.send({ text }), { code: 'INVALID_PARAMS', message: words });
    assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 0);
  });
});

describe('a dispatch beside another handshake object is refused without a trace', () => {
  const part = (data: JsonObject) => ({ data, mediaType: undefined });
  const other = (id: string) => dispatching({ task_id: id }).data ?? [];
  const ROWS: [what: string, message: Parameters<typeof inbound>[0]][] = [
    ['a second dispatch', { data: [...other('a'), ...other('b')] }],
    ['a copy of it', { data: [...other('a'), ...other('a')] }],
    ['another as the text', { data: other('a'), text: JSON.stringify(other('b')[0]?.data) }],
    ['after an announce', { data: [part(encodeAnnounce(announceOf('switch'))), ...other('a')] }],
  ];
  for (const [what, message] of ROWS)
    it(what, async (t) => {
      const neo = await profile(t, { agents: { switch: 9219 } });
      await assert.rejects(neo.gateway.accept(inbound(message), { ...CALLER, name: 'switch' }), {
        code: 'INVALID_PARAMS',
        message: /TASK_DISPATCH beside another handshake object/,
      });
      assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 0);
      assert.equal(neo.peers.get('switch')?.announce, undefined);
    });
});
