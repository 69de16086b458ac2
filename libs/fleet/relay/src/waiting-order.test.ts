import assert from 'node:assert/strict';
import { it } from 'node:test';
import { DONE, dispatching, MEMORY, type Script, withoutMemory } from '@hermes-fleet/gateway/testing';
import { systemClock } from '@hermes-fleet/protocol/ports';

it('fifty tasks that are checked at once share two peers, and no peer gets more than its capacity', async (t) => {
  const script: Script = async (_task, { budget }) => {
    const call = await budget.reserve({ inputTokens: 1, maxOutputTokens: 0 });
    await systemClock.sleep(5);
    await call.settle({ inputTokens: 1, outputTokens: 0, source: 'metered' });
    return DONE;
  };
  const { orchestrator, worker, health } = await withoutMemory(t, {
    script,
    names: ['neo', 'trinity'],
    worker: { limits: { max_concurrent_tasks: 2, queue_depth: 3 } },
  });
  const ids: string[] = [];
  for (let i = 0; i < 50; i += 1) ids.push(await orchestrator.send(dispatching({}, MEMORY)));
  for (const id of ids) await orchestrator.event(id, 'queued', 2);
  assert.match(await orchestrator.metrics(), /fleet_queue_depth\{queue="waiting"\} 50/);
  await health('ok');
  const results = await Promise.all(ids.map((id) => orchestrator.result(id)));
  assert.deepEqual([...new Set(results.map(({ status }) => status))], ['done']);
  assert.deepEqual([...new Set(results.map(({ attempts }) => attempts?.length))], [1]);
  const runs = ['neo', 'trinity'].map((name) => worker(name).runs.length);
  const [neo = 0, trinity = 0] = runs;
  assert.equal(neo + trinity, 50);
  assert.ok(Math.min(neo, trinity) >= 10, `not shared: ${runs.join()}`);
  for (const id of ids) {
    const events = orchestrator.events(id);
    const count = (type: string): number => events.filter((each) => each === type).length;
    // Once when it was admitted, and once for each wait; a place that was full when the task came leads to another wait.
    assert.ok(count('queued') >= 2 && count('queued') <= 1 + count('delegated'), events.join());
  }
});

it('the most urgent of the waiting tasks goes first', async (t) => {
  const started: string[] = [];
  const { orchestrator, health } = await withoutMemory(t, {
    script: async (task) => {
      started.push(task.dispatch.brief);
      return DONE;
    },
    worker: { limits: { max_concurrent_tasks: 1, queue_depth: 0 } },
  });
  const ids: string[] = [];
  for (const priority of ['low', 'normal', 'urgent']) {
    const id = await orchestrator.send(dispatching({ priority }, { ...MEMORY, brief: priority }));
    await orchestrator.event(id, 'queued', 2);
    ids.push(id);
  }
  await health('ok');
  await Promise.all(ids.map((id) => orchestrator.result(id)));
  assert.deepEqual(started, ['urgent', 'normal', 'low']);
});

it('a new task does not take the capacity that a more urgent task has waited for', async (t) => {
  const started: string[] = [];
  const { orchestrator, worker, hear } = await withoutMemory(t, {
    script: async (task) => {
      started.push(task.dispatch.brief);
      return DONE;
    },
    worker: { limits: { max_concurrent_tasks: 1, queue_depth: 0 } },
  });
  const announce = await worker('neo').gateway.freshAnnounce();
  const session = { ...announce.session, activeTasks: 1 };
  const limits = { maxConcurrentTasks: 1, queueDepth: 0, queuedTasks: 0, freeSlots: 0 };
  await orchestrator.peers.record({ ...announce, session, limits }, { name: 'neo' });
  const urgent = await orchestrator.send(dispatching({ priority: 'urgent' }, { brief: 'urgent' }));
  await orchestrator.event(urgent, 'queued', 2);
  await hear('neo');
  const low = await orchestrator.send(dispatching({ priority: 'low' }, { brief: 'low' }));
  const waited = await orchestrator.event(low, 'queued', 2);
  assert.deepEqual([waited.waiting, waited.reason], [true, 'capacity']);
  await orchestrator.result(urgent);
  await hear('neo');
  await orchestrator.result(low);
  assert.deepEqual(started, ['urgent', 'low']);
});
