import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DONE, dispatching, profile } from '@hermes-fleet/gateway/testing';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { InboundMessage, MessagePart } from '@hermes-fleet/protocol/ports';

const ORDER: JsonObject = { order: 7, items: ['<b>'] };

/** A message with these parts, as the border hands it over. */
function withParts(...parts: JsonObject[]): Partial<InboundMessage> {
  return {
    text: parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n'),
    data: parts.flatMap(({ data, mediaType }) =>
      data === undefined ? [] : [{ data, mediaType: typeof mediaType === 'string' ? mediaType : undefined }],
    ),
    raw: { messageId: 'm', role: 'ROLE_USER', parts },
  };
}

const dispatchPart = (task: JsonObject): JsonObject => {
  const [part] = dispatching(task).data ?? [];
  return { data: part?.data ?? null, mediaType: 'application/vnd.hermes.handshake+json' };
};

describe('the parts of a message', () => {
  it('reach the executor in their order, and the text is the brief', async (t) => {
    let parts: readonly MessagePart[] = [];
    const neo = await profile(t, {
      script: async (task) => {
        parts = task.parts;
        return DONE;
      },
    });
    const id = await neo.send(withParts({ data: ORDER }, { text: 'Check the order.' }));
    assert.equal((await neo.result(id)).status, 'done');
    assert.deepEqual(parts, [
      { index: 0, kind: 'data', data: ORDER },
      { index: 1, kind: 'text', text: 'Check the order.' },
    ]);
    assert.equal(neo.task(id).dispatch.brief, 'Check the order.');
  });

  it('may be data alone: then the brief says that there is no text', async (t) => {
    const neo = await profile(t);
    const id = await neo.send(withParts({ data: ORDER }));
    assert.equal((await neo.result(id)).status, 'done');
    assert.match(String(neo.task(id).dispatch.brief), /^The message has no text/);
  });

  it('count for idempotency: a copy is the same task, and other parts under its name are a conflict', async (t) => {
    const neo = await profile(t);
    const dispatch = dispatchPart({ task_id: 'one' });
    const id = await neo.send(withParts(dispatch, { data: ORDER }));
    assert.equal(await neo.send(withParts(dispatch, { data: ORDER })), id);
    const others: JsonObject[][] = [
      [{ data: { ...ORDER, order: 8 } }],
      [],
      [{ data: ORDER }, { url: 'https://files.example/x' }],
    ];
    for (const other of others)
      await assert.rejects(neo.send(withParts(dispatch, ...other)), { code: 'TASK_ID_CONFLICT' });
  });

  it('beside an announce or a greeting are refused when they are files, and change nothing', async (t) => {
    const neo = await profile(t);
    const announce = { type: 'SESSION_ANNOUNCE', protocol_version: '2.0' };
    for (const message of [
      withParts({ data: announce }, { raw: 'aGk=' }),
      { ...withParts({ text: 'hello' }, { raw: 'aGk=' }), contextId: 'handshake:hermes-neo' },
    ])
      await assert.rejects(neo.send(message), {
        code: 'INVALID_PARAMS',
        message: /^message\.parts\[1\] is a file/,
      });
  });

  it('are there again for a run that a restart resumes', async (t) => {
    const seen: (readonly MessagePart[])[] = [];
    const first = Promise.withResolvers<void>();
    const neo = await profile(t, {
      script: async ({ parts }, { stopping }) => {
        seen.push(parts);
        if (seen.length > 1) return DONE;
        first.resolve();
        return await new Promise((_, reject) =>
          stopping.addEventListener('abort', () => reject(stopping.reason), { once: true }),
        );
      },
    });
    const id = await neo.send(withParts({ text: 'Check.' }, { data: ORDER }));
    await first.promise;
    await neo.restart();
    assert.equal((await neo.result(id)).status, 'done');
    assert.equal(seen.length, 2);
    assert.deepEqual(seen[1], seen[0]);
  });
});
