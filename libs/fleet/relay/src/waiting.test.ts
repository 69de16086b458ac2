import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  CALLER,
  dispatching,
  MEMORY,
  until,
  untilAborted,
  withoutMemory,
} from '@hermes-fleet/gateway/testing';
import { isLive } from '@hermes-fleet/peers';
import type { JsonObject } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';

const inSoon = (ms: number): string => new Date(Date.now() + ms).toISOString();

const waits = (data: JsonObject): boolean => data.waiting === true;

describe('a task that waits for a peer', { concurrency: 3 }, () => {
  it('releases its slot, keeps its context, counts as waiting, and runs when an announce makes a peer eligible', async (t) => {
    const { orchestrator, health } = await withoutMemory(t, { fleet: { limits: { max_relayed_tasks: 1 } } });
    const id = await orchestrator.send({ ...dispatching({}, MEMORY), contextId: 'c' });
    const queued = await orchestrator.event(id, 'queued', 2);
    assert.deepEqual([queued.waiting, queued.reason, queued.unmet], [true, 'mcp', ['mcp']]);
    assert.match(String(queued.detail), /^neo: required MCP server "memory" is not healthy/);
    const other = await orchestrator.send(dispatching());
    const same = await orchestrator.send({ ...dispatching(), contextId: 'c' });
    assert.equal((await orchestrator.result(other)).status, 'done');
    assert.deepEqual([orchestrator.task(id).state, orchestrator.task(same).state], ['queued', 'queued']);
    assert.deepEqual([orchestrator.gateway.activeTasks(), orchestrator.gateway.queuedTasks()], [0, 2]);
    assert.match(await orchestrator.metrics(), /fleet_queue_depth\{queue="waiting"\} 2/);
    await health('ok');
    const result = await orchestrator.result(id);
    assert.deepEqual([result.status, result.tokensSpent], ['done', 5]);
    assert.equal((await orchestrator.result(same)).status, 'done');
    assert.deepEqual(
      orchestrator.events(id).filter((type) => type !== 'progress'),
      ['submitted', 'queued', 'started', 'queued', 'delegated', 'done'],
    );
    const metrics = await orchestrator.metrics();
    assert.match(metrics, /fleet_queue_depth\{queue="waiting"\} 0/);
    assert.match(metrics, /fleet_task_retries_total\{reason="mcp"\} 1/);
  });

  it('is working, as its state says, while a peer has it', async (t) => {
    const { orchestrator, worker, health } = await withoutMemory(t, { script: untilAborted });
    const id = await orchestrator.send(dispatching({}, MEMORY));
    await orchestrator.event(id, 'queued', 2);
    await health('ok');
    await orchestrator.event(id, 'delegated');
    assert.equal(orchestrator.task(id).state, 'working');
    await worker('neo').firstRun;
    await orchestrator.gateway.cancel(id, CALLER);
  });

  for (const how of ['a crash', 'a stop'])
    it(`keeps waiting after ${how} until the same time, and this does not count as a resume`, async (t) => {
      const { orchestrator, health } = await withoutMemory(t);
      const id = await orchestrator.send(dispatching({}, MEMORY));
      const { until } = await orchestrator.event(id, 'queued', 2);
      if (how === 'a stop') await orchestrator.gateway.stop(5_000);
      assert.equal(orchestrator.task(id).state, 'queued');
      await orchestrator.crash();
      await orchestrator.restart();
      const again = await orchestrator.event(id, 'queued', 3);
      assert.ok(waits(again));
      assert.equal(again.until, until);
      await health('ok');
      assert.equal((await orchestrator.result(id)).status, 'done');
      assert.equal(orchestrator.task(id).resumes, 0);
    });

  it('is canceled at once, even when every slot is taken', async (t) => {
    const { orchestrator, worker } = await withoutMemory(t, {
      script: untilAborted,
      fleet: { limits: { max_relayed_tasks: 1 } },
    });
    const id = await orchestrator.send(dispatching({}, MEMORY));
    await orchestrator.event(id, 'queued', 2);
    const busy = await orchestrator.send(dispatching());
    await worker('neo').firstRun;
    await orchestrator.gateway.cancel(id, CALLER);
    assert.equal(orchestrator.task(id).state, 'canceled');
    const { error, tokensSpent } = await orchestrator.result(id);
    assert.deepEqual([error?.code, tokensSpent], ['canceled', 0]);
    assert.equal(orchestrator.task(busy).state, 'working');
  });

  it('is canceled while it queues for a slot again', async (t) => {
    const { orchestrator, worker, health } = await withoutMemory(t, {
      script: untilAborted,
      fleet: { limits: { max_relayed_tasks: 1 } },
    });
    const id = await orchestrator.send(dispatching({}, MEMORY));
    await orchestrator.event(id, 'queued', 2);
    const busy = await orchestrator.send(dispatching());
    await worker('neo').firstRun;
    await health('ok');
    await until(() => orchestrator.gateway.queuedTasks() === 1 && inFlight() === 1);
    await orchestrator.gateway.cancel(id, CALLER);
    assert.equal(orchestrator.task(id).state, 'canceled');
    await orchestrator.gateway.cancel(busy, CALLER);
    assert.equal(inFlight(), 0);
    const next = await orchestrator.send(dispatching());
    await orchestrator.event(next, 'delegated');

    function inFlight(): number {
      return orchestrator.peers.get('neo')?.inFlight ?? 0;
    }
  });

  it('is blocked with the unmet requirements, at no cost, when its deadline passes', async (t) => {
    const { orchestrator } = await withoutMemory(t);
    const deadline = inSoon(1_500);
    const id = await orchestrator.send(dispatching({ token_budget: 900 }, { ...MEMORY, deadline }));
    const result = await orchestrator.result(id);
    assert.deepEqual([result.status, result.tokensSpent], ['blocked', 0]);
    assert.deepEqual(
      result.unmet?.map(({ kind }) => kind),
      ['deadline', 'mcp'],
    );
    assert.match(result.blockedReason ?? '', /passed while the task waited.*MCP server "memory"/);
    assert.equal((await orchestrator.event(id, 'alert')).reason, 'handed_back');
    const metrics = await orchestrator.metrics();
    assert.match(metrics, /fleet_tokens_saved_total 900/);
    assert.match(
      metrics,
      /fleet_task_admissions_total\{profile="switch",decision="blocked",reason="deadline"\} 1/,
    );
  });

  it('is blocked when its deadline passes while it queues for a slot again', async (t) => {
    const { orchestrator, worker, health } = await withoutMemory(t, {
      script: untilAborted,
      fleet: { limits: { max_relayed_tasks: 1 } },
    });
    const id = await orchestrator.send(dispatching({}, { ...MEMORY, deadline: inSoon(1_500) }));
    await orchestrator.event(id, 'queued', 2);
    await orchestrator.send(dispatching());
    await worker('neo').firstRun;
    await health('ok');
    const { status, tokensSpent, unmet } = await orchestrator.result(id);
    assert.deepEqual([status, tokensSpent, unmet?.[0]?.kind], ['blocked', 0, 'deadline']);
    assert.equal(orchestrator.events(id).includes('delegated'), false);
  });

  it('returns to its caller after max_wait_s when it has no deadline', async (t) => {
    const { orchestrator } = await withoutMemory(t, { fleet: { queue: { max_wait_s: 0.3 } } });
    const id = await orchestrator.send(dispatching({}, MEMORY));
    const result = await orchestrator.result(id);
    assert.deepEqual(
      [result.status, result.tokensSpent, result.unmet?.map(({ kind }) => kind)],
      ['blocked', 0, ['mcp']],
    );
    assert.match(result.blockedReason ?? '', /nobody could take it within the \d+ s that it may wait/);
    assert.deepEqual(await orchestrator.event(id, 'alert'), { reason: 'handed_back', unmet: ['mcp'] });
  });

  it('raises one alert, also across a restart, when it waits beyond max_wait_s for a later deadline', async (t) => {
    const { orchestrator, health } = await withoutMemory(t, { fleet: { queue: { max_wait_s: 0.2 } } });
    const id = await orchestrator.send(dispatching({}, { ...MEMORY, deadline: inSoon(60_000) }));
    assert.equal((await orchestrator.event(id, 'alert')).reason, 'waiting_too_long');
    await orchestrator.gateway.stop(5_000);
    await orchestrator.crash();
    await orchestrator.restart();
    await orchestrator.event(id, 'queued', 3);
    await health('ok');
    assert.equal((await orchestrator.result(id)).status, 'done');
    assert.equal(orchestrator.events(id).filter((type) => type === 'alert').length, 1);
  });

  it('is blocked for capacity when the wait queue is full', async (t) => {
    const { orchestrator } = await withoutMemory(t, { fleet: { queue: { max_waiting: 2 } } });
    const ids: string[] = [];
    for (let i = 0; i < 3; i += 1) ids.push(await orchestrator.send(dispatching({}, MEMORY)));
    const result = await orchestrator.result(ids[2] ?? '');
    assert.deepEqual(
      [result.status, result.tokensSpent, result.unmet?.map(({ kind, transient }) => [kind, transient])],
      [
        'blocked',
        0,
        [
          ['capacity', true],
          ['mcp', true],
        ],
      ],
    );
    assert.deepEqual(
      ids.slice(0, 2).map((id) => orchestrator.task(id).state),
      ['queued', 'queued'],
    );
  });

  it('returns to its caller at once when no peer declares the server any more', async (t) => {
    const { orchestrator, worker, hear } = await withoutMemory(t);
    const id = await orchestrator.send(dispatching({}, MEMORY));
    await orchestrator.event(id, 'queued', 2);
    delete worker('neo').facts.mcp.memory;
    await hear('neo');
    const result = await orchestrator.result(id);
    assert.match(result.blockedReason ?? '', /"memory" is not declared by any live peer/);
  });

  it('keeps waiting while the eligible peer is silent', async (t) => {
    const { orchestrator, worker, hear, health } = await withoutMemory(t, {
      names: ['neo', 'trinity'],
      worker: { announce: { ttl_s: 0.2 } },
    });
    delete worker('trinity').facts.mcp.memory;
    await hear('trinity');
    await health('error', 'neo');
    const id = await orchestrator.send(dispatching({}, MEMORY));
    await orchestrator.event(id, 'queued', 2);
    await until(() => !isLive(orchestrator.peers.get('neo') ?? assert.fail('no neo'), Date.now()));
    await hear('trinity');
    await health('ok', 'neo');
    const result = await orchestrator.result(id);
    assert.deepEqual([result.status, result.executedBy], ['done', 'neo']);
  });

  it('is dispatched only a few times, under one task_id and at no cost, to a peer with unstable health', async (t) => {
    const { orchestrator, worker, health } = await withoutMemory(t, { fleet: { queue: { max_wait_s: 5 } } });
    const neo = worker('neo');
    const id = await orchestrator.send(dispatching({}, MEMORY));
    await orchestrator.event(id, 'queued', 2);
    // neo announces a healthy server, but the server is gone again when a dispatch arrives.
    const stop = new AbortController();
    const flapping = (async () => {
      for (let up = true; !stop.signal.aborted; up = !up) {
        const announce = await neo.gateway.freshAnnounce();
        const mcpHealth = { memory: up ? ('ok' as const) : ('error' as const) };
        await orchestrator.peers.record({ ...announce, mcpHealth }, { name: 'neo' });
        await systemClock.sleep(40);
      }
    })();
    const result = await orchestrator.result(id);
    stop.abort();
    await flapping;
    assert.deepEqual([result.status, result.tokensSpent], ['blocked', 0]);
    assert.deepEqual(
      result.attempts?.map(({ status }) => status),
      ['blocked', 'blocked', 'blocked'],
    );
    const [first, second, third] = (result.attempts ?? []).map(({ startedAt }) => Date.parse(startedAt));
    assert.ok((second ?? 0) - (first ?? 0) >= 1_000 && (third ?? 0) - (second ?? 0) >= 2_000);
    assert.deepEqual(neo.runs, []);
    const { tasks } = neo.ledger.list({ pageSize: 100 });
    assert.deepEqual([tasks.length, new Set(tasks.map(({ key }) => key))], [3, new Set([id])]);
    await health('ok');
  });
});
