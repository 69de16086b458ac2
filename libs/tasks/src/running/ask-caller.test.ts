import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  asking,
  CALLER,
  DONE,
  dispatching,
  inbound,
  profile,
  type Script,
  type TestProfile,
} from '@hermes-fleet/fleet/testing';
import {
  type Caller,
  FleetError,
  HANDSHAKE_MEDIA_TYPE,
  type InboundMessage,
  type JsonObject,
  MAX_QUESTION_CHARS,
  MAX_QUESTIONS,
} from '@hermes-fleet/protocol';

async function answer(
  neo: TestProfile,
  taskId: string,
  text: string,
  more: Partial<InboundMessage> = {},
  caller: Caller = CALLER,
): Promise<void> {
  const accepted = await neo.gateway.accept(inbound({ taskId, text, ...more }), caller);
  assert.deepEqual(accepted, { kind: 'task', taskId });
}

const questions = (neo: TestProfile, id: string): [string, string | undefined][] =>
  neo.ledger.questions(id).map(({ text, answer: given }) => [text, given?.text]);

describe('a task that asks', () => {
  it('waits for its caller without a slot, and goes on with the answer', async (t) => {
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

  it('keeps its context: the next task of that one comes after it', async (t) => {
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

  it('tells the bus neither question nor answer', async (t) => {
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
    it(`waits on over a ${how}, is not run meanwhile, and goes on once`, async (t) => {
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

  it('whose answer came just before a crash goes on with it, and is not asked again', async (t) => {
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

  it('asks so often and no more, and at such length', async (t) => {
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

describe('a question that is taken back', () => {
  /** Asks, takes it back when told to, and ends with how that went. */
  const asksUntil =
    (over: AbortSignal): Script =>
    async (_task, context) => {
      const first = await context
        .ask('Which room?', { key: 'q1', signal: over })
        .catch((error: unknown) => String(error));
      await context.report({ type: 'progress', data: { first } });
      return { ...DONE, text: `${first}; ${await context.ask('Which wall?', { key: 'q2' })}` };
    };

  it('waits for no answer any more: its task goes on in its turn, and may ask again', async (t) => {
    const over = new AbortController();
    const gate = Promise.withResolvers<void>();
    const neo = await profile(t, {
      async script(task, context) {
        if (task.dispatch.brief === 'hold') await gate.promise;
        return task.dispatch.brief === 'hold' ? DONE : asksUntil(over.signal)(task, context);
      },
      fleet: { limits: { max_concurrent_tasks: 1 } },
    });
    const id = await neo.send(dispatching());
    await neo.event(id, 'input_required');
    const other = await neo.send(dispatching({}, { brief: 'hold' }));
    await neo.event(other, 'started');
    over.abort(new Error('of no use'));
    await neo.event(id, 'queued', 2);
    assert.deepEqual([neo.task(id).state, neo.gateway.activeTasks()], ['queued', 1]);
    assert.match(await neo.metrics(), /^fleet_queue_depth\{queue="input"\} 0$/m);
    await assert.rejects(answer(neo, id, 'Late.'), /goes on without an answer/);
    gate.resolve();
    await neo.event(id, 'input_required', 2);
    await answer(neo, id, 'North.');
    assert.equal((await neo.result(id)).text, 'Error: of no use; North.');
    assert.deepEqual(neo.events(id).slice(3), [
      ...['input_required', 'queued', 'progress', 'input_required', 'answered', 'done'],
    ]);
    assert.deepEqual([neo.gateway.activeTasks(), neo.gateway.queuedTasks()], [0, 0]);
  });

  it('keeps an answer that came first, and leaves a cancel what it is', async (t) => {
    const over = new AbortController();
    const neo = await profile(t, {
      script: asksUntil(over.signal),
      ledger: (real) => ({
        ...real,
        async answer(...given) {
          const answered = await real.answer(...given);
          over.abort(new Error('of no use'));
          return answered;
        },
      }),
    });
    const id = await neo.send(dispatching());
    await neo.event(id, 'input_required');
    await answer(neo, id, 'The blue one.');
    await neo.event(id, 'input_required', 2);
    assert.equal(neo.ledger.questions(id)[0]?.withdrawnAt, undefined);
    await neo.gateway.cancel(id, CALLER);
    assert.equal(neo.task(id).state, 'canceled');
  });
});

describe('a task whose answer came after a restart, and that waits for a slot', () => {
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

  it('can be canceled: its executor ends it, and nothing stays in line', async (t) => {
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

describe('more tasks than may wait for their callers', () => {
  it('cannot ask; who waited before a restart still waits, and makes room in the end', async (t) => {
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

describe('a question that nobody answers', () => {
  for (const how of ['while the profile runs', 'after a restart'] as const) {
    it(`ends its task as partial once it has waited long enough, ${how}`, async (t) => {
      const neo = await profile(t, {
        script: asking('Which room?'),
        fleet: { limits: { max_input_wait_s: 0.4 } },
      });
      const id = await neo.send(dispatching());
      await neo.event(id, 'input_required');
      if (how === 'after a restart') {
        await neo.crash();
        await neo.restart();
      }
      const result = await neo.result(id);
      assert.deepEqual([result.status, neo.task(id).state], ['partial', 'completed'], JSON.stringify(result));
      assert.match(
        result.remaining?.join() ?? '',
        /nobody answered within the 0 s .*max_input_wait_s\)\): Which room\?/,
      );
      assert.equal(neo.gateway.queuedTasks(), 0);
      await assert.rejects(answer(neo, id, 'Late.'), /has ended/);
    });

    it(`ends its task as partial at the deadline, ${how}`, async (t) => {
      const neo = await profile(t, { script: asking('Which room?') });
      const deadline = new Date(Date.now() + 600).toISOString();
      const id = await neo.send(dispatching({}, { deadline }));
      await neo.event(id, 'input_required');
      if (how === 'after a restart') {
        await neo.crash();
        await neo.restart();
      }
      const result = await neo.result(id);
      assert.equal(result.status, 'partial', JSON.stringify(result));
      assert.match(result.remaining?.join() ?? '', /deadline .* has passed.*Which room\?/);
    });

    it(`goes with its task when that is canceled, ${how}`, async (t) => {
      const neo = await profile(t, { script: asking('Which room?') });
      const id = await neo.send(dispatching());
      await neo.event(id, 'input_required');
      if (how === 'after a restart') {
        await neo.crash();
        await neo.restart();
      }
      await neo.gateway.cancel(id, CALLER);
      assert.deepEqual([neo.task(id).state, (await neo.result(id)).error?.code], ['canceled', 'canceled']);
      assert.equal(neo.gateway.queuedTasks(), 0);
      assert.match(await neo.metrics(), /^fleet_queue_depth\{queue="input"\} 0$/m);
      await assert.rejects(answer(neo, id, 'Late.'), /has ended/);
    });
  }

  it('leaves a run what it has to show: the executor ends it, also after a restart', async (t) => {
    const neo = await profile(t, {
      script: async (_task, { ask, signal }) => {
        const asked = ask('Which room?', { key: 'q' });
        await asked.catch(() => undefined);
        if (!signal.aborted) throw new Error('the profile stops');
        const artifacts = { filesChanged: ['a.ts'] };
        return { ...DONE, status: 'error', error: { code: 'x', message: 'y', retryable: false }, artifacts };
      },
      fleet: { limits: { max_input_wait_s: 0.4 } },
    });
    const id = await neo.send(dispatching());
    await neo.event(id, 'input_required');
    await neo.crash();
    await neo.restart();
    const result = await neo.result(id);
    assert.deepEqual([result.status, result.artifacts.filesChanged], ['partial', ['a.ts']]);
    assert.ok(!neo.events(id).includes('resumed'));
  });
});

describe('an answer', () => {
  it('is taken once, however often it comes; a copy gives the same task, also when that has ended', async (t) => {
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
      'of data alone',
      { text: '', data: [{ data: { room: 'blue' }, mediaType: 'application/json' }] },
      ...([CALLER, 'INVALID_PARAMS', /has no text/] as const),
    ],
  ];
  it('that is wrong is refused, leaves nothing behind, and the right one is still taken', async (t) => {
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

  it('to a task that waits for none is refused, by why it does not wait', async (t) => {
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
    await assert.rejects(answer(neo, id, 'The red one.'), unsupported(/has its answer already/));
    await assert.rejects(
      answer(neo, id, 'The red one.', { messageId: 'm-1' }),
      (error: unknown) => error instanceof FleetError && error.code === 'INVALID_PARAMS',
    );
    holding.resolve();
    assert.equal((await neo.result(id)).status, 'done');
    await assert.rejects(answer(neo, id, 'The red one.'), unsupported(/has ended/));
    assert.deepEqual(questions(neo, id), [['Which room?', 'The blue one.']]);
  });

  it('to a profile that stops is refused as retryable, and taken after its start', async (t) => {
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

  it('that could not be written is not acknowledged, and taken when it comes again', async (t) => {
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
