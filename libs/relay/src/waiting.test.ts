import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  CALLER,
  DONE,
  dispatching,
  relayFleet,
  type Script,
  spending,
  untilAborted,
} from '@hermes-fleet/fleet/testing';
import { isLive } from '@hermes-fleet/peers';
import { type JsonObject, systemClock } from '@hermes-fleet/protocol';

const MEMORY = { requirements: { required_mcp: ['memory'] } };
const inSoon = (ms: number): string => new Date(Date.now() + ms).toISOString();

/** A fleet in which nothing that needs the server `memory` can be done now. */
async function withoutMemory(
  t: TestContext,
  o: { fleet?: JsonObject; worker?: JsonObject; script?: Script; names?: string[] } = {},
) {
  const options = { script: o.script ?? spending(5), fleet: o.worker ?? {} };
  const names = o.names ?? ['neo'];
  const made = await relayFleet(t, Object.fromEntries(names.map((name) => [name, options])), {
    ...(o.fleet ? { fleet: o.fleet } : {}),
  });
  const health = async (state: 'ok' | 'error', ...which: string[]): Promise<void> => {
    for (const name of which.length > 0 ? which : names) {
      made.worker(name).facts.mcp.memory = state;
      await made.hear(name);
    }
  };
  await health('error');
  return { ...made, health };
}

const waits = (data: JsonObject): boolean => data.waiting === true;

describe('a task that waits for a peer', { concurrency: 3 }, () => {
  it('gives its slot away, keeps its context, counts as waiting, and runs when an announce changes the picture', async (t) => {
    const { orchestrator, health } = await withoutMemory(t, { fleet: { limits: { max_relayed_tasks: 1 } } });
    const id = await orchestrator.send({ ...dispatching({}, MEMORY), contextId: 'c' });
    const queued = await orchestrator.event(id, 'queued', 2);
    assert.deepEqual([queued.waiting, queued.reason, queued.unmet], [true, 'mcp', ['mcp']]);
    const other = await orchestrator.send(dispatching());
    const same = await orchestrator.send({ ...dispatching(), contextId: 'c' });
    assert.equal((await orchestrator.result(other)).status, 'done');
    assert.deepEqual([orchestrator.task(id).state, orchestrator.task(same).state], ['queued', 'queued']);
    assert.deepEqual([orchestrator.gateway.activeTasks(), orchestrator.gateway.queuedTasks()], [0, 2]);
    assert.match(await orchestrator.metrics(), /fleet_queue_depth\{queue="waiting"\} 1/);
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

  it('works for its caller while a peer has it, as its state says', async (t) => {
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
    it(`goes on waiting after ${how}, by the same clock, without that counting as a resume`, async (t) => {
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

  it('is canceled at once, also when every slot is taken', async (t) => {
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

  it('is canceled while it is in line for a slot again', async (t) => {
    const { orchestrator, worker, health } = await withoutMemory(t, {
      script: untilAborted,
      fleet: { limits: { max_relayed_tasks: 1 } },
    });
    const id = await orchestrator.send(dispatching({}, MEMORY));
    await orchestrator.event(id, 'queued', 2);
    const busy = await orchestrator.send(dispatching());
    await worker('neo').firstRun;
    await health('ok');
    await until(() => orchestrator.gateway.queuedTasks() === 1 && inFlight() === 2);
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

  it('is blocked when its deadline passes, with what was missing, for no token', async (t) => {
    const { orchestrator } = await withoutMemory(t);
    const deadline = inSoon(300);
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

  it('is blocked when its deadline passes while it is in line for a slot again', async (t) => {
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

  it('is handed back after max_wait_s when it has no deadline', async (t) => {
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

  it('raises one alert when it waits longer than it should for a later deadline, also over a restart', async (t) => {
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

  it('beside as many as may wait is blocked: capacity', async (t) => {
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

  it('is handed back at once when nobody has the server any more', async (t) => {
    const { orchestrator, worker, hear } = await withoutMemory(t);
    const id = await orchestrator.send(dispatching({}, MEMORY));
    await orchestrator.event(id, 'queued', 2);
    delete worker('neo').facts.mcp.memory;
    await hear('neo');
    const result = await orchestrator.result(id);
    assert.match(result.blockedReason ?? '', /"memory" is not declared by any live peer/);
  });

  it('goes on waiting while the peer that could do it is silent', async (t) => {
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

  it('whose peer’s health flaps is dispatched a few times only, under one task_id, and spends nothing', async (t) => {
    const { orchestrator, worker, health } = await withoutMemory(t);
    const neo = worker('neo');
    const id = await orchestrator.send(dispatching({}, MEMORY));
    await orchestrator.event(id, 'queued', 2);
    // What neo says and what it has: by the time that a dispatch arrives, the server is gone again.
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

it('fifty tasks that are woken at once share two peers, and nobody is asked beyond what it has room for', async (t) => {
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
  assert.ok(Math.min(neo, trinity) >= 15, `not shared: ${runs.join()}`);
  for (const id of ids)
    assert.deepEqual(orchestrator.events(id).filter((type) => type === 'queued').length, 2);
});

it('of those that wait the more urgent one goes first', async (t) => {
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

it('a newcomer does not take the place that somebody more urgent has waited for', async (t) => {
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
  await orchestrator.peers.record({ ...announce, session }, { name: 'neo' });
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

async function until(condition: () => boolean): Promise<void> {
  const giveUpAt = Date.now() + 10_000;
  while (!condition()) {
    if (Date.now() > giveUpAt) assert.fail('the condition did not come true within 10 s');
    await systemClock.sleep(10);
  }
}
