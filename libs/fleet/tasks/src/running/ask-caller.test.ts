import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { answer, asking, CALLER, DONE, dispatching, profile, questions } from '@hermes-fleet/gateway/testing';
import type { JsonObject } from '@hermes-fleet/protocol';
import { MAX_QUESTION_CHARS, MAX_QUESTIONS } from '@hermes-fleet/protocol/ports';

describe('a task that asks', () => {
  it('waits for its caller without a slot, and continues with the answer', async (t) => {
    const neo = await profile(t, {
      script: async (task, context) =>
        task.dispatch.brief === 'ask' ? asking('Which room?')(task, context) : DONE,
      fleet: { limits: { max_concurrent_tasks: 1 } },
    });
    const id = await neo.send(dispatching({}, { brief: 'ask' }));
    await neo.event(id, 'input_required');
    assert.equal(neo.task(id).state, 'input_required');
    const other = await neo.send(dispatching());
    assert.equal((await neo.result(other)).status, 'done', 'its slot is free');
    assert.deepEqual([neo.gateway.activeTasks(), neo.gateway.queuedTasks()], [0, 1]);
    assert.match(await neo.metrics(), /^fleet_queue_depth\{queue="input"\} 1$/m);
    await answer(neo, id, 'The blue one.');
    const result = await neo.result(id);
    assert.deepEqual([result.status, result.text], ['done', 'The blue one.']);
    assert.deepEqual(neo.events(id), [
      'submitted',
      'queued',
      'started',
      'input_required',
      'answered',
      'done',
    ]);
    assert.deepEqual(questions(neo, id), [['Which room?', 'The blue one.']]);
    assert.match(await neo.metrics(), /^fleet_queue_depth\{queue="input"\} 0$/m);
  });

  it('keeps its context: the next task of the context runs after it', async (t) => {
    const neo = await profile(t, { script: asking('Which room?') });
    const id = await neo.send({ ...dispatching(), contextId: 'c' });
    await neo.event(id, 'input_required');
    const next = await neo.send({ ...dispatching(), contextId: 'c' });
    await neo.crash();
    await neo.restart();
    assert.equal(neo.task(next).state, 'queued');
    await answer(neo, id, 'The blue one.');
    await neo.result(id);
    await neo.event(next, 'input_required');
    assert.deepEqual(neo.runs, [id, id, next]);
  });

  it('publishes neither question nor answer on the bus', async (t) => {
    const neo = await profile(t, { script: asking('Which room?') });
    const id = await neo.send(dispatching());
    await neo.event(id, 'input_required');
    await answer(neo, id, 'The blue one.');
    await neo.result(id);
    const told = JSON.stringify(neo.ledger.outbox.read(0, 100));
    assert.doesNotMatch(told, /room|blue/);
    assert.match(told, /task\.neo\.input_required.*task\.neo\.answered/);
  });

  for (const how of ['stop', 'crash'] as const)
    it(`keeps waiting over a ${how} without running, and continues once`, async (t) => {
      const neo = await profile(t, { script: asking('Which room?', 'Which wall?') });
      const id = await neo.send(dispatching());
      await neo.event(id, 'input_required');
      const before = neo.events(id);
      if (how === 'stop') await neo.gateway.stop(5_000);
      await neo.crash();
      await neo.restart();
      assert.deepEqual(neo.events(id), before);
      assert.deepEqual([neo.runs.length, neo.task(id).resumes, neo.task(id).state], [1, 0, 'input_required']);
      assert.deepEqual([neo.gateway.activeTasks(), neo.gateway.queuedTasks()], [0, 1]);
      assert.match(await neo.metrics(), /^fleet_queue_depth\{queue="input"\} 1$/m);
      await answer(neo, id, 'The blue one.');
      await neo.event(id, 'input_required', 2);
      await answer(neo, id, 'North.');
      const result = await neo.result(id);
      assert.deepEqual([result.status, result.text], ['done', 'The blue one., North.']);
      assert.deepEqual([neo.runs.length, neo.task(id).resumes], [2, 0]);
    });

  it('whose answer came just before a crash continues with it, without asking again', async (t) => {
    let goesOn = Promise.withResolvers<void>();
    const neo = await profile(t, {
      script: async (task, context) => {
        if (task.dispatch.brief === 'hold') await goesOn.promise;
        return asking('Which room?')(task, context);
      },
      fleet: { limits: { max_concurrent_tasks: 1 } },
    });
    const id = await neo.send(dispatching());
    await neo.event(id, 'input_required');
    const other = await neo.send(dispatching({}, { brief: 'hold' }));
    await neo.event(other, 'started');
    await answer(neo, id, 'The blue one.');
    assert.equal(neo.task(id).state, 'queued', 'the slot is taken');
    await neo.crash();
    goesOn.resolve();
    goesOn = Promise.withResolvers();
    await neo.restart();
    assert.equal((await neo.result(id)).text, 'The blue one.');
    assert.deepEqual([neo.ledger.questions(id).length, neo.task(id).resumes], [1, 0]);
    goesOn.resolve();
  });

  it('is limited in the number and the length of its questions', async (t) => {
    const many = Array.from(
      { length: MAX_QUESTIONS + 1 },
      (_, nth) => `${nth} ${'x'.repeat(MAX_QUESTION_CHARS)}`,
    );
    const neo = await profile(t, { script: asking(...many) });
    const id = await neo.send(dispatching());
    for (let nth = 1; nth <= MAX_QUESTIONS; nth += 1) {
      await neo.event(id, 'input_required', nth);
      await answer(neo, id, 'Yes.');
    }
    const result = await neo.result(id);
    assert.deepEqual([result.status, result.error?.code], ['error', 'unsupported_operation']);
    assert.equal(neo.ledger.questions(id).length, MAX_QUESTIONS);
    assert.ok(neo.ledger.questions(id).every(({ text }) => text.length <= MAX_QUESTION_CHARS + 10));
  });
});

describe('a task that waits for a slot after an answer and a restart', () => {
  async function inLine(t: TestContext, dispatch: JsonObject = {}) {
    const gate = Promise.withResolvers<void>();
    const neo = await profile(t, {
      async script(task, context) {
        if (task.dispatch.brief === 'hold') await gate.promise;
        return task.dispatch.brief === 'hold' ? DONE : asking('Which room?')(task, context);
      },
      fleet: { limits: { max_concurrent_tasks: 1 } },
    });
    const id = await neo.send({ ...dispatching({}, dispatch), contextId: 'c' });
    await neo.event(id, 'input_required');
    await neo.crash();
    await neo.restart();
    const other = await neo.send(dispatching({}, { brief: 'hold' }));
    await neo.event(other, 'started');
    await answer(neo, id, 'The blue one.');
    assert.equal(neo.task(id).state, 'queued');
    return { neo, id, other, gate };
  }

  it('can be canceled: its executor ends it, and nothing stays queued', async (t) => {
    const { neo, id, other, gate } = await inLine(t);
    await neo.gateway.cancel(id, CALLER);
    assert.deepEqual([neo.task(id).state, neo.runs.filter((run) => run === id).length], ['canceled', 2]);
    assert.deepEqual([neo.gateway.activeTasks(), neo.gateway.queuedTasks()], [1, 0]);
    gate.resolve();
    assert.equal((await neo.result(other)).status, 'done');
    assert.equal(neo.runs.length, 3);
  });

  it('ends at its deadline', async (t) => {
    const deadline = new Date(Date.now() + 1_500).toISOString();
    const { neo, id, gate } = await inLine(t, { deadline });
    assert.equal((await neo.result(id)).error?.code, 'deadline_exceeded');
    assert.deepEqual([neo.gateway.activeTasks(), neo.gateway.queuedTasks()], [1, 0]);
    gate.resolve();
  });
});

describe('the limit of tasks that wait for their callers', () => {
  it('refuses further questions, and counts the tasks that waited before a restart', async (t) => {
    const neo = await profile(t, { script: asking('Which room?'), fleet: { queue: { max_waiting: 2 } } });
    const ids = [await neo.send(dispatching()), await neo.send(dispatching())];
    for (const id of ids) await neo.event(id, 'input_required');
    await neo.crash();
    await neo.restart();
    const third = await neo.send(dispatching());
    assert.deepEqual((await neo.result(third)).error?.code, 'unsupported_operation');
    for (const id of ids) {
      await answer(neo, id, 'The blue one.');
      assert.equal((await neo.result(id)).status, 'done');
    }
    const fourth = await neo.send(dispatching());
    await neo.event(fourth, 'input_required');
  });
});
