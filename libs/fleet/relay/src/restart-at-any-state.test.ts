import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  CALLER,
  DONE,
  dispatching,
  freePort,
  inbound,
  MEMORY,
  profile,
  type Script,
  until,
  withoutMemory,
} from '@hermes-fleet/gateway/testing';
import { faultyLine } from '../testing/faulty-line.ts';

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

it('a task whose acknowledgement was lost is found at its peer after a crash of the orchestrator, and done once', async (t) => {
  const [switchPort, linePort, otherPort] = [await freePort(), await freePort(), await freePort()];
  const ports = { switch: switchPort, neo: await freePort(), trinity: otherPort };
  const gate = Promise.withResolvers<void>();
  const script: Script = () => gate.promise.then(() => DONE);
  const neo = await profile(t, { name: 'neo', agents: ports, script });
  const trinity = await profile(t, { name: 'trinity', agents: ports, tier: 'opus', script });
  for (const worker of [neo, trinity]) await worker.serve();
  const line = await faultyLine(t, linePort, ports.neo);
  const agents = { ...ports, neo: linePort };
  const orchestrator = await profile(t, {
    name: 'switch',
    agents,
    random: () => 0,
    fleet: { orchestrate: true },
  });
  const hear = async (): Promise<void> => {
    for (const worker of [neo, trinity]) {
      // The address that the orchestrator knows.
      const { endpoint: _own, ...announce } = await worker.gateway.freshAnnounce();
      await orchestrator.peers.record(announce, { name: worker.name });
    }
  };
  await hear();
  line.set('cut');
  const id = await orchestrator.send(dispatching());
  await neo.firstRun;
  // Chosen again, the task would go to trinity.
  neo.facts.usable = false;
  await hear();
  await orchestrator.gateway.stop(1_000);
  await orchestrator.crash();
  line.set('open');
  await orchestrator.restart();
  gate.resolve();
  assert.equal((await orchestrator.result(id)).status, 'done');
  assert.deepEqual([neo.runs.length, trinity.runs.length], [1, 0]);
  assert.equal(orchestrator.events(id).filter((type) => type === 'done').length, 1);
});
