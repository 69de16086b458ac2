import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CALLER, DONE, dispatching, profile, type Script, untilAborted } from '@hermes-fleet/gateway/testing';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { hasCode } from '@hermes-fleet/protocol/testing';

const inSoon = (ms: number) => new Date(Date.now() + ms).toISOString();

describe('shutdown and resume', () => {
  const checkpointing: Script = async (task, context) => {
    if (context.checkpoint.load() === undefined) {
      await context.checkpoint.save({ step: 1 });
      await context.reportEvent({ type: 'progress', data: { step: 1 } });
      return untilAborted(task, context);
    }
    return { ...DONE, text: `went on from ${JSON.stringify(context.checkpoint.load())}` };
  };

  it('a shutdown refuses new tasks, and the next start completes running and waiting ones', async (t) => {
    const neo = await profile(t, { script: checkpointing });
    const running = await neo.send({ ...dispatching(), contextId: 'c' });
    const waiting = await neo.send({ ...dispatching(), contextId: 'c' });
    await neo.event(running, 'progress');
    await neo.gateway.stop(400);
    assert.equal(neo.gateway.activeTasks(), 0);
    await assert.rejects(
      neo.send(dispatching()),
      (error) => hasCode('SHUTTING_DOWN')(error) && error instanceof FleetError && error.retryable,
    );
    assert.equal(neo.gateway.announce().ready, false);
    assert.deepEqual([neo.task(running).state, neo.task(waiting).state], ['working', 'queued']);
    await neo.crash();
    await neo.restart();
    assert.equal((await neo.result(running)).text, 'went on from {"step":1}');
    assert.deepEqual(neo.events(running), [
      'submitted',
      'queued',
      'started',
      'progress',
      'resumed',
      'started',
      'done',
    ]);
    assert.equal(neo.task(running).resumes, 1);
    assert.equal(neo.task(waiting).resumes, 0);
    await neo.event(waiting, 'progress');
  });

  it('a start admits a task that was accepted before a crash', async (t) => {
    const neo = await profile(t);
    const raw = { messageId: 'm' };
    const dispatch = { type: 'TASK_DISPATCH', protocol_version: '2.0', task: { task_id: 'k' }, brief: 'b' };
    const { task } = await neo.ledger.accept({
      id: 'id-1',
      contextId: 'c',
      caller: 'operator',
      key: 'k',
      fingerprint: 'f',
      message: raw,
      dispatch,
    });
    await neo.crash();
    await neo.restart();
    assert.equal((await neo.result(task.id)).status, 'done');
  });

  const unreadable: JsonObject[] = [{ type: 'TASK_DISPATCH', shape: 'old' }, { protocol_version: '1.0' }];
  for (const dispatch of unreadable)
    it(`a start ends a task whose dispatch it cannot decode: ${JSON.stringify(dispatch)}`, async (t) => {
      const neo = await profile(t);
      const raw = { messageId: 'm' };
      const { task } = await neo.ledger.accept({
        id: 'id-1',
        contextId: 'c',
        caller: 'operator',
        key: 'k',
        fingerprint: 'f',
        message: raw,
        dispatch,
      });
      await neo.ledger.append(task.id, { type: 'queued', data: {} });
      await neo.crash();
      await neo.restart();
      assert.equal((await neo.result(task.id)).status, 'error');
    });

  it('an interrupted task whose deadline passes while it waits does not run again', async (t) => {
    const neo = await profile(t, { script: untilAborted, fleet: { limits: { max_concurrent_tasks: 1 } } });
    const low = await neo.send(dispatching({ priority: 'low' }));
    const urgent = await neo.send(dispatching({ priority: 'urgent' }, { deadline: inSoon(600) }));
    await neo.event(low, 'started');
    // As if the limit was higher before the restart.
    await neo.ledger.append(urgent, { type: 'started', data: {} });
    await neo.gateway.stop(400);
    await neo.crash();
    await neo.restart();
    assert.equal((await neo.result(urgent)).error?.code, 'deadline_exceeded');
    assert.deepEqual(neo.events(urgent).filter((type) => type === 'started').length, 1);
    assert.equal(neo.task(low).state, 'working');
  });

  for (const how of ['a pause', 'a crash'])
    it(`after ${how}, a task that had begun runs before an older task of its context`, async (t) => {
      const pausing: Script = (task, { signal, stopping, checkpoint }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          if (how === 'a pause')
            stopping.addEventListener('abort', () => {
              checkpoint.save({ stopped: task.id }).then(() => reject(stopping.reason));
            });
        });
      const neo = await profile(t, { script: pausing });
      const first = await neo.send({ ...dispatching(), contextId: 'c' });
      const older = await neo.send({ ...dispatching({ priority: 'low' }), contextId: 'c' });
      const begun = await neo.send({ ...dispatching({ priority: 'urgent' }), contextId: 'c' });
      await neo.gateway.cancel(first, CALLER);
      await neo.event(begun, 'started');
      await neo.gateway.stop(400);
      assert.equal(neo.task(begun).state, how === 'a pause' ? 'queued' : 'working');
      await neo.crash();
      await neo.restart(async () => DONE);
      await Promise.all([neo.result(begun), neo.result(older)]);
      assert.deepEqual(neo.runs, [first, begun, begun, older]);
    });

  it('a task that was interrupted too often ends with max_resumes', async (t) => {
    const neo = await profile(t, { script: untilAborted, fleet: { limits: { max_resumes: 1 } } });
    const id = await neo.send(dispatching());
    await neo.event(id, 'started');
    for (const starts of [2, 0]) {
      await neo.gateway.stop(400);
      await neo.crash();
      await neo.restart();
      if (starts > 0) await neo.event(id, 'started', starts);
    }
    const result = await neo.result(id);
    assert.deepEqual([result.status, result.error?.code], ['error', 'max_resumes']);
  });

  it('an interrupted task whose deadline passed before the start ends once', async (t) => {
    const neo = await profile(t, { script: untilAborted });
    const deadline = inSoon(400);
    const id = await neo.send(dispatching({}, { deadline }));
    await neo.event(id, 'started');
    await neo.gateway.stop(400);
    await neo.crash();
    await systemClock.sleep(Date.parse(deadline) - Date.now() + 1);
    await neo.restart();
    const result = await neo.result(id);
    assert.deepEqual([result.status, result.error?.code], ['error', 'deadline_exceeded']);
    assert.equal(neo.events(id).filter((type) => type === 'error').length, 1);
  });

  it('a shutdown lets a run reach a checkpoint, which does not count as an interruption', async (t) => {
    const pausing: Script = (_task, { signal, stopping, checkpoint }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => assert.fail('it was not given the time'), { once: true });
        stopping.addEventListener('abort', () => {
          const stops = Number(checkpoint.load()?.stops ?? 0) + 1;
          checkpoint.save({ stops }).then(() => reject(stopping.reason));
        });
      });
    const neo = await profile(t, { script: pausing, fleet: { limits: { max_resumes: 1 } } });
    const id = await neo.send(dispatching());
    for (const starts of [1, 2, 3]) {
      await neo.event(id, 'started', starts);
      await neo.gateway.stop(5_000);
      assert.equal(neo.task(id).state, 'queued');
      assert.deepEqual(neo.ledger.loadCheckpoint(id), { stops: starts });
      await neo.crash();
      await neo.restart();
    }
    assert.equal(neo.task(id).resumes, 0);
  });

  it('a shutdown waits at most the grace period for an executor that ignores the abort', async (t) => {
    const gate = Promise.withResolvers<void>();
    const neo = await profile(t, { script: () => gate.promise.then(() => DONE) });
    const id = await neo.send(dispatching());
    await neo.event(id, 'started');
    await neo.gateway.stop(50);
    assert.equal(neo.task(id).state, 'working');
    gate.resolve();
  });
});
