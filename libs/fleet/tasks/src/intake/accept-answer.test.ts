import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answer, asking, CALLER, DONE, dispatching, profile, questions } from '@hermes-fleet/gateway/testing';
import { FleetError, HANDSHAKE_MEDIA_TYPE, type JsonObject } from '@hermes-fleet/protocol';
import type { Caller, InboundMessage } from '@hermes-fleet/protocol/ports';

describe('an answer', () => {
  it('is text also if it holds a handshake object', async (t) => {
    const neo = await profile(t, { script: asking('Which dispatch shall the example show?') });
    const id = await neo.send(dispatching());
    await neo.event(id, 'input_required');
    const text = '{"type": "TASK_DISPATCH", "brief": "anything"}';
    await answer(neo, id, text);
    assert.equal((await neo.result(id)).text, text);
  });

  it('is accepted once: copies return the same task, also after its end', async (t) => {
    const neo = await profile(t, { script: asking('Which room?', 'Which wall?') });
    const id = await neo.send(dispatching());
    await neo.event(id, 'input_required');
    const same = { messageId: 'm-1' };
    await Promise.all(Array.from({ length: 20 }, () => answer(neo, id, 'The blue one.', same)));
    await neo.event(id, 'input_required', 2);
    await answer(neo, id, 'The blue one.', same);
    assert.deepEqual(questions(neo, id)[1], ['Which wall?', undefined]);
    await answer(neo, id, 'North.', { messageId: 'm-2' });
    assert.equal((await neo.result(id)).text, 'The blue one., North.');
    await answer(neo, id, 'The blue one.', same);
    assert.equal(neo.events(id).filter((type) => type === 'answered').length, 2);
  });

  const DISPATCH = dispatching().data ?? [];
  const stranger = { ...CALLER, name: 'stranger' };
  const reader = { ...CALLER, scopes: new Set(['announce', 'read']) };
  type Wrong = [what: string, message: Partial<InboundMessage>, caller: Caller, code: string, words: RegExp];
  const wrong: Wrong[] = [
    ['to no task', { taskId: 'nobody' }, CALLER, 'TASK_NOT_FOUND', /nobody is not known/],
    ["to another caller's task", {}, stranger, 'TASK_NOT_FOUND', /is not known/],
    ['from another context', { contextId: 'elsewhere' }, CALLER, 'CONTEXT_MISMATCH', /elsewhere/],
    ['of a caller that may not dispatch', {}, reader, 'FORBIDDEN', /dispatch/],
    ['that is a dispatch', { data: DISPATCH }, CALLER, 'INVALID_PARAMS', /TASK_DISPATCH/],
    [
      'that is a result',
      { data: [{ data: { type: 'TASK_RESULT' }, mediaType: HANDSHAKE_MEDIA_TYPE }] },
      ...([CALLER, 'INVALID_PARAMS', /TASK_RESULT/] as const),
    ],
    ['without a word', { text: ' \n' }, CALLER, 'INVALID_PARAMS', /has no text/],
    [
      'that could not be passed on',
      { text: '"'.repeat(520_000) },
      ...([CALLER, 'INVALID_PARAMS', /1040002 bytes as one JSON string, at most 1032192/] as const),
    ],
    [
      'of data alone',
      { text: '', data: [{ data: { room: 'blue' }, mediaType: 'application/json' }] },
      ...([CALLER, 'INVALID_PARAMS', /has no text/] as const),
    ],
  ];
  it('that is invalid is refused without a trace, and a valid one is still accepted', async (t) => {
    const neo = await profile(t, { script: asking('Which room?') });
    const id = await neo.send(dispatching());
    await neo.event(id, 'input_required');
    for (const [what, message, caller, code, words] of wrong)
      await assert.rejects(
        answer(neo, message.taskId ?? id, 'The blue one.', message, caller),
        (error) => {
          assert.ok(error instanceof FleetError, String(error));
          assert.deepEqual(
            [error.code, words.test(error.message)],
            [code, true],
            `${what}: ${error.message}`,
          );
          return true;
        },
        what,
      );
    assert.deepEqual([neo.task(id).state, neo.runs.length], ['input_required', 1]);
    assert.equal(neo.ledger.list({ pageSize: 10 }).totalSize, 1);
    await answer(neo, id, 'The blue one.', { contextId: neo.task(id).contextId });
    assert.equal((await neo.result(id)).status, 'done');
  });

  it('may have data beside its text or alone, which the run gets as JSON, and no file', async (t) => {
    const neo = await profile(t, { script: asking('Which room?') });
    const id = await neo.send(dispatching());
    await neo.event(id, 'input_required');
    const raw = (...parts: JsonObject[]): Partial<InboundMessage> => ({ raw: { messageId: 'm', parts } });
    await assert.rejects(answer(neo, id, 'See the plan.', raw({ text: 'See the plan.' }, { raw: 'aGk=' })), {
      code: 'CONTENT_TYPE_NOT_SUPPORTED',
      message: /^message\.parts\[1\] is a file/,
    });
    assert.equal(neo.task(id).state, 'input_required');
    await answer(neo, id, '', raw({ data: { room: 'blue' } }, { data: 7 }));
    assert.equal((await neo.result(id)).status, 'done');
    assert.equal(neo.ledger.questions(id)[0]?.answer?.text, '{"room":"blue"}\n7');
  });

  it('to a task without an open question is refused with the reason', async (t) => {
    const holding = Promise.withResolvers<void>();
    const neo = await profile(t, {
      script: async (task, context) => {
        if (task.dispatch.brief === 'ask') await context.ask('Which room?', { key: 'q' });
        await holding.promise;
        return DONE;
      },
    });
    const busy = await neo.send(dispatching());
    await neo.event(busy, 'started');
    const unsupported = (words: RegExp) => (error: unknown) =>
      error instanceof FleetError && error.code === 'UNSUPPORTED_OPERATION' && words.test(error.message);
    await assert.rejects(answer(neo, busy, 'Hello?'), unsupported(/has asked nothing/));
    const id = await neo.send(dispatching({}, { brief: 'ask' }));
    await neo.event(id, 'input_required');
    await answer(neo, id, 'The blue one.', { messageId: 'm-1' });
    await assert.rejects(answer(neo, id, 'The red one.'), unsupported(/was already answered/));
    await assert.rejects(
      answer(neo, id, 'The red one.', { messageId: 'm-1' }),
      (error: unknown) => error instanceof FleetError && error.code === 'INVALID_PARAMS',
    );
    holding.resolve();
    assert.equal((await neo.result(id)).status, 'done');
    await assert.rejects(answer(neo, id, 'The red one.'), unsupported(/has ended/));
    assert.deepEqual(questions(neo, id), [['Which room?', 'The blue one.']]);
  });

  it('during a shutdown is refused as retryable, and accepted after the start', async (t) => {
    const neo = await profile(t, { script: asking('Which room?') });
    const id = await neo.send(dispatching());
    await neo.event(id, 'input_required');
    await neo.gateway.stop(5_000);
    await assert.rejects(
      answer(neo, id, 'The blue one.'),
      (error: unknown) => error instanceof FleetError && error.code === 'SHUTTING_DOWN' && error.retryable,
    );
    await neo.crash();
    await neo.restart();
    await answer(neo, id, 'The blue one.');
    assert.equal((await neo.result(id)).text, 'The blue one.');
  });

  it('that could not be written is not acknowledged, and accepted when it is sent again', async (t) => {
    let full = true;
    const neo = await profile(t, {
      script: asking('Which room?'),
      ledger: (real) => ({
        ...real,
        answer: (id, given) =>
          full
            ? Promise.reject(new FleetError('STORE_UNAVAILABLE', 'the disk is full'))
            : real.answer(id, given),
      }),
    });
    const id = await neo.send(dispatching());
    await neo.event(id, 'input_required');
    await assert.rejects(answer(neo, id, 'The blue one.', { messageId: 'm-1' }), /disk is full/);
    full = false;
    await answer(neo, id, 'The blue one.', { messageId: 'm-1' });
    assert.equal((await neo.result(id)).text, 'The blue one.');
  });
});
