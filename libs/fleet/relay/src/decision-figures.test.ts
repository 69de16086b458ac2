import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { dispatching, type RelayFleet, relayFleet, spending } from '@hermes-fleet/gateway/testing';

const WORKERS = ['neo', 'trinity', 'morpheus'];

async function fleet(t: TestContext): Promise<RelayFleet> {
  const peer = { script: spending(1), tier: 'sonnet' };
  return relayFleet(t, { neo: peer, trinity: peer, morpheus: peer });
}

/** The samples above 0 of these families, of all profiles: `profile family{labels} value`. */
async function figures({ orchestrator, worker }: RelayFleet): Promise<string[]> {
  const found: string[] = [];
  for (const each of [orchestrator, ...WORKERS.map(worker)])
    for (const [, family, labels = '', value] of (await each.metrics()).matchAll(
      /^fleet_(task_admissions|peer_refusals|tokens_saved)_total(?:\{(.*)\})? ([1-9]\d*)$/gm,
    ))
      found.push(`${each.name} ${family} ${labels.replace(/profile="\w+",/, '')} ${value}`);
  return found.sort();
}

describe('a task counts once, at the profile where it entered', { concurrency: 3 }, () => {
  it('if every worker refuses it', async (t) => {
    const all = await fleet(t);
    // Below the minimum of each worker, which only the worker knows.
    const id = await all.orchestrator.send(dispatching({ token_budget: 50 }));
    const { status, attempts = [] } = await all.orchestrator.result(id);
    assert.deepEqual([status, attempts.length], ['blocked', 3]);
    assert.deepEqual(await figures(all), [
      'morpheus peer_refusals kind="budget" 1',
      'neo peer_refusals kind="budget" 1',
      'switch task_admissions decision="blocked",reason="budget" 1',
      'switch tokens_saved  50',
      'trinity peer_refusals kind="budget" 1',
    ]);
  });

  it('if another worker does what two have refused: nothing is saved', async (t) => {
    const all = await fleet(t);
    for (const name of ['neo', 'trinity']) all.worker(name).facts.usable = false;
    const asked = [];
    for (let n = 0; n < 3; n += 1)
      asked.push(await all.orchestrator.send(dispatching({ token_budget: 900 })));
    for (const id of asked) assert.equal((await all.orchestrator.result(id)).status, 'done');
    const counted = await figures(all);
    assert.ok(
      counted.some((each) => each.includes('peer_refusals')),
      counted.join(),
    );
    assert.deepEqual(
      counted.filter((each) => !each.includes('peer_refusals')),
      ['switch task_admissions decision="accepted",reason="none" 3'],
    );
  });

  it('if it is sent to a worker itself', async (t) => {
    const all = await fleet(t);
    const neo = all.worker('neo');
    await neo.result(await neo.send(dispatching()));
    neo.facts.usable = false;
    await neo.result(await neo.send(dispatching({ token_budget: 700 })));
    assert.deepEqual(await figures(all), [
      'neo task_admissions decision="accepted",reason="none" 1',
      'neo task_admissions decision="blocked",reason="repo" 1',
      'neo tokens_saved  700',
    ]);
  });

  it('unless it is canceled while it waits', async (t) => {
    const all = await fleet(t);
    for (const name of WORKERS) all.worker(name).facts.usable = false;
    const id = await all.orchestrator.send(dispatching({}, { routing: { on_blocked: 'queue' } }));
    await all.orchestrator.event(id, 'queued', 2);
    await all.orchestrator.gateway.cancel(id, { name: 'operator', scopes: new Set() });
    assert.equal((await all.orchestrator.result(id)).error?.code, 'canceled');
    assert.deepEqual(
      (await figures(all)).filter((each) => !each.includes('peer_refusals')),
      [],
    );
  });
});

it('durations are those of tasks that ran', async (t) => {
  const all = await fleet(t);
  const { orchestrator } = all;
  const neo = all.worker('neo');
  const timed = async (): Promise<string[]> => {
    const pages = [await orchestrator.metrics(), await neo.metrics()];
    const samples = /^fleet_task_(duration|turnaround)_seconds_count\{(.*)\} ([1-9]\d*)$/gm;
    return pages.flatMap((page) =>
      [...page.matchAll(samples)].map(([, family, labels, value]) => `${family} ${labels} ${value}`),
    );
  };
  for (const name of WORKERS) all.worker(name).facts.usable = false;
  await neo.result(await neo.send(dispatching()));
  const nowhere = await orchestrator.send(dispatching({}, { routing: { target: 'nobody' } }));
  assert.equal((await orchestrator.result(nowhere)).status, 'blocked');
  const waiting = await orchestrator.send(dispatching({}, { routing: { on_blocked: 'queue' } }));
  await orchestrator.event(waiting, 'queued', 2);
  await orchestrator.gateway.cancel(waiting, { name: 'operator', scopes: new Set() });
  const refused = await orchestrator.send(dispatching({}, { routing: { on_blocked: 'fail' } }));
  assert.equal((await orchestrator.result(refused)).status, 'blocked');
  assert.deepEqual(await timed(), []);
  neo.facts.usable = true;
  await neo.result(await neo.send(dispatching()));
  assert.deepEqual(await timed(), [
    'duration profile="neo",model_tier="sonnet",status="done" 1',
    'turnaround profile="neo",model_tier="sonnet",status="done" 1',
  ]);
});
