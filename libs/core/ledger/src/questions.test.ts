import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline, hasCode, START } from '@hermes-fleet/protocol/testing';
import fc from 'fast-check';
import { collect, never, newTask, openTestLedger } from '../testing/harness.ts';
import type { Answer } from './types.ts';

const answerOf = (messageId: string, text = 'blue'): Answer => ({
  messageId,
  text,
  message: { messageId, parts: [{ text }] },
});

test('a question, its state and its event are one transaction, and the event omits the text', async (t) => {
  const { ledger, clock } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const asked = await ledger.ask(id, { key: 'q1', text: 'Which room?' });
  assert.deepEqual(asked, { key: 'q1', seq: 2, askedAt: START, text: 'Which room?', answer: undefined });
  assert.equal(ledger.get(id)?.state, 'input_required');
  assert.deepEqual(ledger.events(id, 1), [
    { seq: 2, taskId: id, type: 'input_required', at: START, data: { number: 1, chars: 11 } },
  ]);
  clock.advance(2_400);
  const { question, isNew } = await ledger.answer(id, answerOf('m1'));
  assert.deepEqual([question, isNew], [{ ...asked, answer: answerOf('m1') }, true]);
  assert.equal(ledger.get(id)?.state, 'queued');
  assert.deepEqual(ledger.events(id, 2)[0]?.data, { number: 1, waited_s: 2 });
  assert.deepEqual(ledger.questions(id), [question]);
  assert.ok(!JSON.stringify(ledger.outbox.read(0, 10)).match(/room|blue/));
});

test('the same key is the same question, answered or not, also after a restart', async (t) => {
  const { ledger, reopen } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const asked = await ledger.ask(id, { key: 'q1', text: 'Which room?' });
  assert.deepEqual(await ledger.ask(id, { key: 'q1', text: 'Another one?' }), asked);
  await assert.rejects(ledger.ask(id, { key: 'q2', text: 'Which wall?' }), hasCode('INTERNAL', /waits for/));
  const again = await reopen();
  assert.equal(again.get(id)?.state, 'input_required');
  await again.answer(id, answerOf('m1'));
  assert.equal((await again.ask(id, { key: 'q1', text: '' }))?.answer?.text, 'blue');
  assert.equal(again.events(id).filter(({ type }) => type === 'input_required').length, 1);
});

test('an answer counts once, and an answer without an open question is rejected', async (t) => {
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  await assert.rejects(
    ledger.answer(id, answerOf('m0')),
    hasCode('UNSUPPORTED_OPERATION', /has asked nothing/),
  );
  await assert.rejects(ledger.answer('nobody', answerOf('m0')), hasCode('TASK_NOT_FOUND', /nobody/));
  await ledger.ask(id, { key: 'q1', text: 'Which room?' });
  const copies = await Promise.all(Array.from({ length: 20 }, () => ledger.answer(id, answerOf('m1'))));
  assert.deepEqual(copies.map(({ isNew }) => isNew).filter(Boolean), [true]);
  await assert.rejects(
    ledger.answer(id, answerOf('m2', 'red')),
    hasCode('UNSUPPORTED_OPERATION', /already answered/),
  );
  await assert.rejects(ledger.answer(id, answerOf('m1', 'red')), hasCode('INVALID_PARAMS', /another answer/));
  await ledger.ask(id, { key: 'q2', text: 'Which wall?' });
  const old = await ledger.answer(id, answerOf('m1'));
  assert.deepEqual(
    [old.isNew, old.question.key],
    [false, 'q1'],
    'a late copy does not answer the next question',
  );
  assert.equal(ledger.get(id)?.state, 'input_required');
  await ledger.append(id, { type: 'canceled', data: {} });
  await assert.rejects(ledger.answer(id, answerOf('m3')), hasCode('UNSUPPORTED_OPERATION', /has ended/));
  assert.equal((await ledger.answer(id, answerOf('m1'))).isNew, false);
  assert.equal(await ledger.ask(id, { key: 'q3', text: 'Anybody?' }), undefined);
  assert.deepEqual(
    ledger.questions(id).map(({ key, answer }) => [key, answer?.messageId]),
    [
      ['q1', 'm1'],
      ['q2', undefined],
    ],
  );
});

test('a withdrawn question takes no answer, and may be asked again', async (t) => {
  const { ledger, clock, reopen } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  await ledger.ask(id, { key: 'q1', text: 'Which room?' });
  clock.advance(10);
  const withdrawn = await ledger.withdraw(id, 'q1');
  assert.deepEqual([withdrawn?.withdrawnAt, withdrawn?.answer], [START + 10, undefined]);
  assert.deepEqual(await ledger.withdraw(id, 'q1'), withdrawn, 'once');
  assert.deepEqual([ledger.get(id)?.state, ledger.events(id).at(-1)?.data], ['queued', { withdrawn: true }]);
  await assert.rejects(
    ledger.answer(id, answerOf('m1')),
    hasCode('UNSUPPORTED_OPERATION', /continues without an answer/),
  );
  await ledger.ask(id, { key: 'q2', text: 'Which wall?' });
  await ledger.answer(id, answerOf('m2'));
  assert.equal((await ledger.withdraw(id, 'q2'))?.answer?.messageId, 'm2', 'an answer that came first stays');
  assert.equal(ledger.events(id).at(-1)?.type, 'answered');
  const again = await reopen();
  const anew = await again.ask(id, { key: 'q1', text: 'Which room?' });
  assert.deepEqual([anew?.withdrawnAt, again.get(id)?.state], [undefined, 'input_required']);
  assert.deepEqual(
    again.questions(id).map(({ key }) => key),
    ['q2', 'q1'],
  );
  await again.answer(id, answerOf('m3'));
  assert.equal(await again.withdraw(id, 'nobody'), undefined);
});

test('a watcher sees a question and its answer; pruning removes both', async (t) => {
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const seen = collect(ledger.watch(id, 0, never));
  await ledger.ask(id, { key: 'q1', text: 'Which room?' });
  await ledger.answer(id, answerOf('m1'));
  await ledger.append(id, { type: 'done', data: {} });
  assert.deepEqual(await seen, ['submitted', 'input_required', 'answered', 'done']);
  await ledger.outbox.advance(ledger.outbox.read(0, 10).at(-1)?.seq ?? 0);
  assert.equal(await ledger.prune(START + 1, 10), 1);
  assert.deepEqual(ledger.questions(id), []);
});

test(
  'each question has at most one answer, in any order of questions, answers, copies and ends',
  deadline,
  async (t) => {
    const { ledger } = openTestLedger(t);
    const step = fc.oneof(
      fc.record({ do: fc.constant('ask' as const), nth: fc.nat({ max: 3 }) }),
      fc.record({
        do: fc.constant('answer' as const),
        nth: fc.nat({ max: 5 }),
        text: fc.constantFrom('a', 'b'),
      }),
      fc.record({ do: fc.constant('end' as const) }),
      fc.record({ do: fc.constant('withdraw' as const), nth: fc.nat({ max: 3 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const { id } = (await ledger.accept(newTask())).task;
        let open: string | undefined;
        let ended = false;
        const answers = new Map<string, [key: string, text: string]>();
        const asked = new Set<string>();
        for (const each of steps) {
          const known = each.do === 'answer' ? answers.get(`m${each.nth}`) : undefined;
          if (each.do === 'end') {
            await ledger.append(id, { type: 'error', data: {} });
            ended = true;
          } else if (each.do === 'withdraw') {
            const key = `q${each.nth}`;
            const withdrawn = await ledger.withdraw(id, key);
            if (open !== key || ended) continue;
            assert.ok(withdrawn?.withdrawnAt);
            open = undefined;
            asked.delete(key);
          } else if (each.do === 'ask') {
            const key = `q${each.nth}`;
            const asking = ledger.ask(id, { key, text: key });
            if (asked.has(key)) await asking;
            else if (open !== undefined && !ended) await assert.rejects(asking);
            else if ((await asking) !== undefined) {
              assert.ok(!ended);
              asked.add(key);
              open = key;
            } else assert.ok(ended);
          } else if (known) {
            const answering = ledger.answer(id, answerOf(`m${each.nth}`, each.text));
            if (known[1] === each.text) assert.equal((await answering).question.key, known[0]);
            else await assert.rejects(answering);
          } else if (open === undefined || ended) {
            await assert.rejects(ledger.answer(id, answerOf(`m${each.nth}`, each.text)));
          } else {
            assert.equal((await ledger.answer(id, answerOf(`m${each.nth}`, each.text))).isNew, true);
            answers.set(`m${each.nth}`, [open, each.text]);
            open = undefined;
          }
          assert.equal(ledger.get(id)?.state === 'input_required', open !== undefined && !ended);
        }
        const given = ledger
          .questions(id)
          .flatMap(({ key, answer }) => (answer ? [`${answer.messageId} ${key} ${answer.text}`] : []));
        assert.deepEqual(given.sort(), [...answers].map(([id_, pair]) => [id_, ...pair].join(' ')).sort());
      }),
      { numRuns: 100 },
    );
  },
);
