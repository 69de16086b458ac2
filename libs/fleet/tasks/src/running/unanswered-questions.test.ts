import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  answer,
  asking,
  CALLER,
  DONE,
  dispatching,
  profile,
  type Script,
} from '@hermes-fleet/gateway/testing';

describe('a withdrawn question', () => {
  /** Asks, withdraws the question on abort, and returns the result of both. */
  const asksUntil =
    (over: AbortSignal): Script =>
    async (_task, context) => {
      const first = await context
        .ask('Which room?', { key: 'q1', signal: over })
        .catch((error: unknown) => String(error));
      await context.reportEvent({ type: 'progress', data: { first } });
      return { ...DONE, text: `${first}; ${await context.ask('Which wall?', { key: 'q2' })}` };
    };

  it('needs no answer: the task continues in its turn, and may ask again', async (t) => {
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
    await assert.rejects(answer(neo, id, 'Late.'), /continues without an answer/);
    gate.resolve();
    await neo.event(id, 'input_required', 2);
    await answer(neo, id, 'North.');
    assert.equal((await neo.result(id)).text, 'Error: of no use; North.');
    assert.deepEqual(neo.events(id).slice(3), [
      ...['input_required', 'queued', 'progress', 'input_required', 'answered', 'done'],
    ]);
    assert.deepEqual([neo.gateway.activeTasks(), neo.gateway.queuedTasks()], [0, 0]);
  });

  it('keeps an answer that came first, and does not hide a cancel', async (t) => {
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

describe('an unanswered question', () => {
  for (const how of ['while the profile runs', 'after a restart'] as const) {
    it(`ends its task as partial when it expires, ${how}`, async (t) => {
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

    it(`ends with its task when that is canceled, ${how}`, async (t) => {
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

  it('keeps the artifacts of the run: the executor ends the task, also after a restart', async (t) => {
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
