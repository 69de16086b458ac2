import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  CALLER,
  DONE,
  dispatching,
  relayFleet,
  type Script,
  until,
  untilAborted,
} from '@hermes-fleet/gateway/testing';
import { systemClock } from '@hermes-fleet/protocol/ports';

const SLOTS = 4;

/** Tasks that each work until `together` of them run at the same time; `done` counts them by worker. */
function inRounds(together: number): {
  readonly at: (name: string) => Script;
  readonly done: Map<string, number>;
} {
  const done = new Map<string, number>();
  let running = 0;
  let round = Promise.withResolvers<void>();
  const at =
    (name: string): Script =>
    async () => {
      running += 1;
      const { promise } = round;
      if (running === together) {
        round.resolve();
        round = Promise.withResolvers();
        running = 0;
      }
      await promise;
      done.set(name, (done.get(name) ?? 0) + 1);
      return DONE;
    };
  return { at, done };
}

describe('work goes where there is room', () => {
  it('tasks leave the orchestrator for free slots only: no worker queues, none stands idle', {
    timeout: 60_000,
  }, async (t) => {
    const tiers = { neo: 'sonnet', trinity: 'haiku', morpheus: 'opus' } as const;
    const names = Object.keys(tiers);
    const { at, done } = inRounds(SLOTS * names.length);
    const fleet = { limits: { max_concurrent_tasks: SLOTS } };
    const { orchestrator, worker } = await relayFleet(
      t,
      Object.fromEntries(
        Object.entries(tiers).map(([name, tier]) => [name, { script: at(name), fleet, tier }]),
      ),
    );
    const ids = await Promise.all(Array.from({ length: 60 }, () => orchestrator.send(dispatching())));
    const results = await Promise.all(ids.map((id) => orchestrator.result(id)));
    assert.ok(results.every(({ status }) => status === 'done'));
    assert.deepEqual(Object.fromEntries(done), { neo: 20, trinity: 20, morpheus: 20 });
    for (const name of names) assert.equal(worker(name).gateway.queuedTasks(), 0);
  });

  it('a worker whose load is not announced refuses; the task waits for its slot, and costs it no attempt', async (t) => {
    const gate = Promise.withResolvers<void>();
    const { orchestrator, worker, hear } = await relayFleet(t, {
      neo: {
        script: () => gate.promise.then(() => DONE),
        fleet: { limits: { max_concurrent_tasks: 1 }, queue: { ageing_s: 1 } },
      },
    });
    const direct = await worker('neo').send(dispatching());
    await worker('neo').event(direct, 'started');
    const id = await orchestrator.send(dispatching());
    const { reason, until: endsAt } = await orchestrator.event(id, 'queued', 2);
    assert.deepEqual([reason, endsAt], ['capacity', undefined], 'a wait for a slot has no end of its own');
    assert.equal(worker('neo').ledger.list({ states: ['rejected'], pageSize: 9 }).totalSize, 1);
    gate.resolve();
    await worker('neo').result(direct);
    await hear('neo');
    const result = await orchestrator.result(id);
    assert.deepEqual([result.status, result.attempts?.length], ['done', 1]);
    assert.equal(orchestrator.peers.get('neo')?.blockedRate, 0);
    assert.match(await orchestrator.metrics(), /fleet_task_retries_total\{reason="capacity"\} [1-9]/);
  });

  it('at a worker that others keep busy, a task waits in its queue after a second: one at a time', async (t) => {
    const { orchestrator, worker, hear } = await relayFleet(t, {
      neo: { script: untilAborted, fleet: { limits: { max_concurrent_tasks: 1 } } },
    });
    const neo = worker('neo');
    const direct = await neo.send(dispatching());
    await neo.event(direct, 'started');
    await hear('neo');
    const ids = [await orchestrator.send(dispatching()), await orchestrator.send(dispatching())];
    await until(() => neo.gateway.queuedTasks() === 1);
    await hear('neo');
    await systemClock.sleep(1_500);
    assert.equal(neo.gateway.queuedTasks(), 1);
    assert.ok(!orchestrator.events(ids[1] ?? '').includes('delegated'));
    await neo.gateway.cancel(direct, CALLER);
    await until(() => neo.runs.length === 2);
    for (const id of ids) await orchestrator.gateway.cancel(id, CALLER);
  });

  it('tasks that others send to a worker are known to the orchestrator within seconds, and so is their end', async (t) => {
    const gate = Promise.withResolvers<void>();
    const { orchestrator, worker } = await relayFleet(t, {
      neo: { script: () => gate.promise.then(() => DONE) },
    });
    await orchestrator.serve();
    const neo = worker('neo');
    neo.announcer.start();
    const loadOf = (): unknown => {
      const announce = orchestrator.peers.get('neo')?.announce;
      return [announce?.session.activeTasks, announce?.limits?.queuedTasks].join(' running, ');
    };
    for (let sent = 0; sent < 6; sent += 1) await neo.send(dispatching());
    await until(() => loadOf() === '4 running, 2');
    gate.resolve();
    await until(() => loadOf() === '0 running, 0');
  });

  it('a task that waits for a part of its work leaves its slot at the worker to another one', async (t) => {
    const gate = Promise.withResolvers<void>();
    const { orchestrator, worker } = await relayFleet(t, {
      neo: {
        script: async (task, { park }) => {
          if (task.dispatch.brief === 'delegates') await park(() => gate.promise);
          return DONE;
        },
        fleet: { limits: { max_concurrent_tasks: 1 } },
      },
    });
    await orchestrator.serve();
    const neo = worker('neo');
    neo.announcer.start();
    const parent = await orchestrator.send(dispatching({}, { brief: 'delegates' }));
    await until(() => neo.gateway.queuedTasks() === 1);
    const other = await orchestrator.send(dispatching({}, { brief: 'other' }));
    assert.equal((await orchestrator.result(other)).status, 'done');
    gate.resolve();
    assert.equal((await orchestrator.result(parent)).status, 'done');
  });

  it('with `fail`, a task for which no slot is free is blocked at once', async (t) => {
    const { orchestrator } = await relayFleet(t, {
      neo: { script: untilAborted, fleet: { limits: { max_concurrent_tasks: 1 } } },
    });
    const first = await orchestrator.send(dispatching());
    await orchestrator.event(first, 'delegated');
    const id = await orchestrator.send(dispatching({}, { routing: { on_blocked: 'fail' } }));
    const { status, unmet } = await orchestrator.result(id);
    assert.deepEqual([status, unmet?.map(({ kind }) => kind)], ['blocked', ['capacity']]);
    await orchestrator.gateway.cancel(first, CALLER);
  });

  it('callers take turns at the orchestrator, and only the first task of each rises with time', async (t) => {
    const gate = Promise.withResolvers<void>();
    const { orchestrator, worker } = await relayFleet(
      t,
      {
        neo: { script: () => gate.promise.then(() => DONE), fleet: { limits: { max_concurrent_tasks: 1 } } },
      },
      { fleet: { queue: { ageing_s: 0.5 } } },
    );
    const ids: string[] = [];
    const send = async (priority: string, name = 'operator'): Promise<void> => {
      ids.push(await orchestrator.send(dispatching({ priority }), { ...CALLER, name }));
      const isFirst = ids.length === 1;
      await orchestrator.event(ids.at(-1) ?? '', isFirst ? 'delegated' : 'queued', isFirst ? 1 : 2);
    };
    for (let sent = 0; sent < 4; sent += 1) await send('normal');
    await systemClock.sleep(1_200);
    await send('urgent', 'somebody');
    await send('normal', 'somebody');
    gate.resolve();
    await Promise.all(ids.map((id) => orchestrator.result(id)));
    const neo = worker('neo');
    const order = neo.runs.map((id) => ids.indexOf(neo.task(id).key));
    assert.deepEqual(
      order.slice(0, 3),
      [0, 1, 4],
      'the first normal task has become urgent, the others have not',
    );
    assert.ok(order.indexOf(5) < order.indexOf(3), order.join());
  });

  it('an urgent task passes tasks that wait for a slot, and the wait for a slot outlasts max_wait_s', async (t) => {
    const gate = Promise.withResolvers<void>();
    const { orchestrator, worker } = await relayFleet(
      t,
      {
        neo: { script: () => gate.promise.then(() => DONE), fleet: { limits: { max_concurrent_tasks: 1 } } },
      },
      { fleet: { queue: { max_wait_s: 0.3 } } },
    );
    const ids: string[] = [];
    for (const priority of ['normal', 'low', 'normal', 'urgent']) {
      ids.push(await orchestrator.send(dispatching({ priority })));
      await orchestrator.event(
        ids.at(-1) ?? '',
        ids.length === 1 ? 'delegated' : 'queued',
        ids.length === 1 ? 1 : 2,
      );
    }
    assert.equal((await orchestrator.event(ids[1] ?? '', 'alert')).reason, 'waiting_too_long');
    gate.resolve();
    await Promise.all(ids.map((id) => orchestrator.result(id)));
    const neo = worker('neo');
    const order = neo.runs.map((id) => ids.indexOf(neo.task(id).key));
    assert.deepEqual(order, [0, 3, 2, 1]);
  });
});
