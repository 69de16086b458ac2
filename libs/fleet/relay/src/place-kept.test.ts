import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  CALLER,
  DONE,
  dispatching,
  MEMORY,
  type Script,
  until,
  untilAborted,
  withoutMemory,
} from '@hermes-fleet/gateway/testing';
import { systemClock } from '@hermes-fleet/protocol/ports';

describe('a relayed task', { concurrency: 3 }, () => {
  it('may wait for max_wait_s, without the time that it spent at a peer', async (t) => {
    let runs = 0;
    const script: Script = async () => {
      runs += 1;
      if (runs > 1) return DONE;
      await systemClock.sleep(2_000);
      const unmet = [{ kind: 'mcp' as const, name: 'memory', detail: 'died', transient: true }];
      return { ...DONE, status: 'blocked', blockedReason: 'memory died', unmet };
    };
    const fleet = { queue: { max_wait_s: 1.5 } };
    const { orchestrator, health, hear } = await withoutMemory(t, { script, fleet });
    const id = await orchestrator.send(dispatching({}, MEMORY));
    await orchestrator.event(id, 'queued', 2);
    await health('ok');
    await orchestrator.event(id, 'delegated');
    const announces = setInterval(() => void hear('neo'), 250);
    t.after(() => clearInterval(announces));
    const result = await orchestrator.result(id);
    assert.equal(result.status, 'done', result.blockedReason ?? '');
  });

  it('that gets its context is not blocked for the tasks behind it', async (t) => {
    const { orchestrator, worker } = await withoutMemory(t, {
      script: untilAborted,
      worker: { limits: { max_concurrent_tasks: 1 } },
      fleet: { queue: { max_waiting: 2 }, limits: { max_relayed_tasks: 10 } },
    });
    await orchestrator.send(dispatching());
    await worker('neo').firstRun;
    const inContext = { ...dispatching(), contextId: 'c' };
    const first = await orchestrator.send(inContext);
    await orchestrator.event(first, 'queued', 2);
    const ids: string[] = [];
    for (let sent = 0; sent < 3; sent += 1)
      ids.push(await orchestrator.send({ ...dispatching(), contextId: 'c' }));
    await orchestrator.gateway.cancel(first, CALLER);
    await orchestrator.event(ids[0] ?? '', 'queued', 2);
    assert.deepEqual([...new Set(ids.map((id) => orchestrator.task(id).state))], ['queued']);
  });

  it('whose question is withdrawn counts as load of its worker again', async (t) => {
    const withdrawal = new AbortController();
    const gate = Promise.withResolvers<void>();
    const script: Script = async (_task, { ask }) => {
      await ask('Which room?', { key: 'room', signal: withdrawal.signal }).catch(() => undefined);
      await gate.promise;
      return DONE;
    };
    const { orchestrator } = await withoutMemory(t, { script });
    const inFlight = () => orchestrator.peers.get('neo')?.inFlight;
    const id = await orchestrator.send(dispatching());
    await orchestrator.event(id, 'input_required');
    await until(() => inFlight() === 0);
    withdrawal.abort(new Error('no need'));
    await until(() => inFlight() === 1);
    assert.equal(orchestrator.gateway.activeTasks(), 1);
    gate.resolve();
    assert.equal((await orchestrator.result(id)).status, 'done');
  });
});
