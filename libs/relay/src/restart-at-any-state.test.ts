import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { CALLER, DONE, dispatching, inbound, type Script } from '@hermes-fleet/fleet/testing';
import { MEMORY, until, withoutMemory } from './testing/without-memory.ts';

/** A task in each state that lasts: asking, running, queued three times, waiting. The worker has one slot. */
async function inEveryState(t: TestContext) {
  const did: string[] = [];
  const scriptWith =
    (gate: Promise<void>): Script =>
    async (task, { ask, signal, stopping }) => {
      const { brief } = task.dispatch;
      if (brief === 'asks') await ask('Which room?', { key: 'room' });
      if (brief === 'runs') {
        const over = AbortSignal.any([signal, stopping]);
        const ended = new Promise((_, reject) => over.addEventListener('abort', () => reject(over.reason)));
        await Promise.race([gate, ended]);
      }
      did.push(brief);
      return DONE;
    };
  const gate = Promise.withResolvers<void>();
  const script = scriptWith(gate.promise);
  const fleet = await withoutMemory(t, { script, worker: { limits: { max_concurrent_tasks: 1 } } });
  const { orchestrator } = fleet;
  const ids: Record<string, string> = {};
  const send = async (brief: string, o: object = {}, priority = 'normal', caller = CALLER): Promise<void> => {
    ids[brief] = await orchestrator.send(dispatching({ priority }, { brief, ...o }), caller);
  };
  await send('asks');
  await orchestrator.event(ids.asks ?? '', 'input_required');
  await send('runs');
  await until(() => fleet.worker('neo').runs.length === 2);
  for (const [brief, priority, caller] of [
    ['first', 'normal', CALLER],
    ['second', 'normal', CALLER],
    ["other's", 'normal', { ...CALLER, name: 'somebody' }],
    ['urgent', 'urgent', CALLER],
  ] as const)
    await send(brief, {}, priority, caller);
  await send('waits', MEMORY);
  for (const brief of ['first', 'second', "other's", 'urgent', 'waits'])
    await orchestrator.event(ids[brief] ?? '', 'queued', 2);
  return { ...fleet, ids, did, scriptWith, open: gate.resolve };
}

describe('a task in any state', { concurrency: 2 }, () => {
  for (const victim of ['the orchestrator', 'the worker', 'both'] as const)
    it(`is neither lost nor done twice when ${victim} crashes, and those that wait keep their order`, async (t) => {
      const { orchestrator, worker, health, hear, ids, did, scriptWith, open } = await inEveryState(t);
      const neo = worker('neo');
      if (victim !== 'the worker') await orchestrator.crash();
      if (victim !== 'the orchestrator') {
        await neo.crash();
        // The process that crashed never opens its gate.
        await neo.restart(scriptWith(Promise.resolve()));
      }
      if (victim !== 'the worker') await orchestrator.restart();
      await hear('neo');
      if (victim === 'the orchestrator') open();
      for (const brief of ['runs', 'first', 'second', "other's", 'urgent'])
        assert.equal((await orchestrator.result(ids[brief] ?? '')).status, 'done', brief);
      assert.deepEqual(
        [orchestrator.task(ids.asks ?? '').state, orchestrator.task(ids.waits ?? '').state],
        ['input_required', 'queued'],
      );
      await orchestrator.gateway.accept(inbound({ taskId: ids.asks ?? '', text: 'the blue one' }), CALLER);
      await health('ok');
      for (const brief of ['asks', 'waits'])
        assert.equal((await orchestrator.result(ids[brief] ?? '')).status, 'done', brief);
      assert.deepEqual(did.slice(0, 4), ['runs', 'urgent', "other's", 'first'], did.join());
      assert.deepEqual(did.toSorted(), Object.keys(ids).toSorted(), 'each is done once');
      for (const id of Object.values(ids))
        assert.equal(orchestrator.events(id).filter((type) => type === 'done').length, 1);
    });
});
