import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  CALLER,
  DONE,
  dispatching,
  profile,
  type TestProfile,
  untilAborted,
} from '@hermes-fleet/gateway/testing';
import { FleetError } from '@hermes-fleet/protocol';
import { hasCode } from '@hermes-fleet/protocol/testing';

const inSoon = (ms: number) => new Date(Date.now() + ms).toISOString();

describe('an unavailable ledger', () => {
  it('delays a task without losing or refusing it', async (t) => {
    let failures = 0;
    const neo = await profile(t, {
      ledger: (real) => ({
        ...real,
        async append(id, event, change) {
          if (event.type !== 'progress' && failures < 4) {
            failures += 1;
            throw new FleetError('STORE_UNAVAILABLE', 'the disk is full');
          }
          return real.append(id, event, change);
        },
      }),
    });
    const id = await neo.send(dispatching());
    assert.equal((await neo.result(id)).status, 'done');
    assert.equal(failures, 4);
    assert.equal(neo.runs.length, 1);
  });

  it('that fails permanently leaves the task to the next start and releases its slot', async (t) => {
    let broken = true;
    const expiryFailed = Promise.withResolvers<void>();
    const neo = await profile(t, {
      script: async (task, context) => (task.dispatch.brief === 'wait' ? untilAborted(task, context) : DONE),
      fleet: { limits: { max_concurrent_tasks: 1 } },
      ledger: (real) => ({
        ...real,
        async append(id, event, change) {
          if (!broken || (event.type !== 'done' && event.type !== 'blocked'))
            return real.append(id, event, change);
          if (event.type === 'blocked') expiryFailed.resolve();
          throw new Error('bug');
        },
      }),
    });
    const first = await neo.send(dispatching());
    const second = await neo.send(dispatching({}, { brief: 'wait' }));
    await neo.event(second, 'started');
    const late = await neo.send(dispatching({}, { deadline: inSoon(500) }));
    await expiryFailed.promise;
    assert.deepEqual([neo.task(first).state, neo.task(late).state], ['working', 'queued']);
    broken = false;
    await neo.gateway.stop(5_000);
    await neo.crash();
    await neo.restart(async () => DONE);
    assert.equal((await neo.result(first)).status, 'done');
    assert.equal((await neo.result(late)).status, 'blocked');
  });

  it('ends a task whose admission failed as an error, not as a refusal', async (t) => {
    const neo = await profile(t);
    Object.defineProperty(neo.facts, 'clean', { get: () => assert.fail('bug') });
    const id = await neo.send(dispatching());
    assert.deepEqual((await neo.result(id)).error?.code, 'internal');
    assert.deepEqual(neo.events(id), ['submitted', 'error']);
    assert.deepEqual(neo.runs, []);
  });
});

describe('cancel', () => {
  it('ends a running task as canceled, with the tokens spent', async (t) => {
    const neo = await profile(t, {
      script: async (task, context) => {
        const call = await context.budget.reserve({ inputTokens: 5, maxOutputTokens: 5 });
        await call.settle({ inputTokens: 5, outputTokens: 1, source: 'metered' });
        await context.reportEvent({ type: 'progress', data: {} });
        return untilAborted(task, context);
      },
    });
    const id = await neo.send(dispatching());
    await neo.event(id, 'progress');
    await neo.gateway.cancel(id, CALLER);
    const result = await neo.result(id);
    assert.equal(neo.task(id).state, 'canceled');
    assert.deepEqual([result.status, result.error?.code, result.tokensSpent], ['error', 'canceled', 6]);
    assert.equal(neo.events(id).at(-1), 'canceled');
  });

  it('removes a waiting task from the queue', async (t) => {
    const neo = await profile(t, { script: untilAborted });
    await neo.send({ ...dispatching(), contextId: 'c' });
    const id = await neo.send({ ...dispatching(), contextId: 'c' });
    await neo.gateway.cancel(id, CALLER);
    assert.equal((await neo.result(id)).error?.code, 'canceled');
    assert.equal(neo.runs.length, 1);
    assert.equal(neo.gateway.queuedTasks(), 0);
  });

  it('is refused for a task of another caller and for a task that has ended', async (t) => {
    const neo = await profile(t);
    const id = await neo.send(dispatching());
    await neo.result(id);
    await assert.rejects(neo.gateway.cancel(id, CALLER), hasCode('TASK_NOT_CANCELABLE'));
    await assert.rejects(neo.gateway.cancel(id, { ...CALLER, name: 'x' }), hasCode('TASK_NOT_FOUND'));
    await assert.rejects(neo.gateway.cancel('nobody', CALLER), hasCode('TASK_NOT_FOUND'));
  });

  it('ends a task that runs to its checkpoint during a shutdown', async (t) => {
    const neo = await profile(t, { script: untilAborted });
    const id = await neo.send(dispatching());
    await neo.event(id, 'started');
    const stopped = neo.gateway.stop(60_000);
    await neo.gateway.cancel(id, CALLER);
    await stopped;
    assert.equal(neo.task(id).state, 'canceled');
  });

  it('ends a task that a shutdown has paused', async (t) => {
    const neo = await profile(t, {
      script: (_task, { stopping }) =>
        new Promise((_resolve, reject) => stopping.addEventListener('abort', () => reject(stopping.reason))),
    });
    const id = await neo.send(dispatching());
    await neo.event(id, 'started');
    await neo.gateway.stop(5_000);
    await neo.gateway.cancel(id, CALLER);
    assert.equal(neo.task(id).state, 'canceled');
  });

  it('is refused as retryable while a shutdown aborts the task', async (t) => {
    let canceling: Promise<void> | undefined;
    const neo: TestProfile = await profile(t, {
      script: (task, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            canceling = neo.gateway.cancel(task.id, CALLER);
            canceling.catch(() => undefined);
            reject(signal.reason);
          });
        }),
    });
    const id = await neo.send(dispatching());
    await neo.event(id, 'started');
    await neo.gateway.stop(400);
    await assert.rejects(canceling ?? assert.fail('the stop ended nothing'), hasCode('SHUTTING_DOWN'));
    assert.equal(neo.task(id).state, 'working');
  });

  it('is refused if the task completes nevertheless', async (t) => {
    const neo = await profile(t, {
      script: (_task, { signal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve(DONE))),
    });
    const id = await neo.send(dispatching());
    await neo.event(id, 'started');
    await assert.rejects(neo.gateway.cancel(id, CALLER), hasCode('TASK_NOT_CANCELABLE'));
    assert.equal((await neo.result(id)).status, 'done');
  });
});

describe('a deadline', { concurrency: true }, () => {
  it('that passes in the queue ends the task as blocked', async (t) => {
    const neo = await profile(t, { script: untilAborted });
    await neo.send({ ...dispatching(), contextId: 'c' });
    const id = await neo.send({ ...dispatching({}, { deadline: inSoon(150) }), contextId: 'c' });
    const result = await neo.result(id);
    assert.deepEqual(
      [result.status, result.tokensSpent, result.unmet?.[0]?.kind],
      ['blocked', 0, 'deadline'],
    );
    assert.equal(neo.runs.length, 1);
  });

  it('that passes during the run ends the task with deadline_exceeded', async (t) => {
    const neo = await profile(t, { script: untilAborted });
    const result = await neo.result(await neo.send(dispatching({}, { deadline: inSoon(1_000) })));
    assert.deepEqual([result.status, result.error?.code], ['error', 'deadline_exceeded']);
  });

  it('keeps a partial outcome', async (t) => {
    const neo = await profile(t, {
      script: (_task, { signal }) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () =>
            resolve({ ...DONE, status: 'partial', remaining: ['rest'] }),
          ),
        ),
    });
    const result = await neo.result(await neo.send(dispatching({}, { deadline: inSoon(1_000) })));
    assert.deepEqual([result.status, result.remaining], ['partial', ['rest']]);
  });
});
