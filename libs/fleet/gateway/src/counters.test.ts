import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { dispatching } from '../testing/messages.ts';
import { profile } from '../testing/profile.ts';
import { spending } from '../testing/relay-fleet.ts';
import { CALLER, type Script, untilAborted } from '../testing/scripts.ts';
import type { TestProfile } from '../testing/test-profile.ts';

/** The samples above 0 of the counters that the ledger keeps: `family{labels} value`. */
async function counters(of: TestProfile): Promise<string[]> {
  const families = 'tasks|task_admissions|peer_refusals|tokens_saved|tokens_spent|tokens_cached';
  const samples = (await of.metrics()).matchAll(
    new RegExp(`^fleet_(?:${families})_total(?:\\{.*\\})? [1-9]\\d*$`, 'gm'),
  );
  return [...samples].map(([line]) => line.replace(/profile="\w+",/, '')).sort();
}

const entered = (of: TestProfile): Promise<string> => of.send(dispatching({ token_budget: 700 }));

/** A profile with a task that is done, two that are blocked, one that a peer sent, and one that is canceled. */
async function busy(t: TestContext): Promise<TestProfile> {
  const hangs = Promise.withResolvers<void>();
  const script: Script = async (task, context) => {
    const done = await spending(30)(task, context);
    if (task.dispatch.brief === 'hang') hangs.resolve();
    return task.dispatch.brief === 'hang' ? untilAborted(task, context) : done;
  };
  const neo = await profile(t, { script });
  await neo.result(await neo.send(dispatching()));
  neo.facts.clean = false;
  await neo.result(await entered(neo));
  await neo.result(await neo.send(dispatching({ path: ['switch'] })));
  neo.facts.clean = true;
  const hanging = await neo.send(dispatching({}, { brief: 'hang' }));
  await hangs.promise;
  await neo.gateway.cancel(hanging, CALLER);
  return neo;
}

it('the counters of tasks and tokens start from the ledger', async (t) => {
  const neo = await busy(t);
  const before = await counters(neo);
  assert.deepEqual(before, [
    'fleet_peer_refusals_total{kind="repo"} 1',
    'fleet_task_admissions_total{decision="accepted",reason="none"} 2',
    'fleet_task_admissions_total{decision="blocked",reason="repo"} 1',
    'fleet_tasks_total{model_tier="sonnet",status="blocked"} 2',
    'fleet_tasks_total{model_tier="sonnet",status="canceled"} 1',
    'fleet_tasks_total{model_tier="sonnet",status="done"} 1',
    'fleet_tokens_saved_total 700',
    'fleet_tokens_spent_total{caller="operator",model_tier="sonnet",type="input"} 60',
  ]);
  await neo.crash();
  await neo.restart();
  assert.deepEqual(await counters(neo), before);
  await neo.result(await neo.send(dispatching()));
  const more = (await counters(neo)).filter((line) => !before.includes(line));
  assert.deepEqual(more, [
    'fleet_task_admissions_total{decision="accepted",reason="none"} 3',
    'fleet_tasks_total{model_tier="sonnet",status="done"} 2',
    'fleet_tokens_spent_total{caller="operator",model_tier="sonnet",type="input"} 90',
  ]);
});

it('a call that a crash left open counts with its estimate, as in the result of its task', async (t) => {
  const called = Promise.withResolvers<void>();
  const neo = await profile(t, {
    script: async (task, context) => {
      await context.budget.reserve({ inputTokens: 40, maxOutputTokens: 9 });
      called.resolve();
      return untilAborted(task, context);
    },
  });
  const id = await neo.send(dispatching());
  await called.promise;
  assert.deepEqual(await counters(neo), []);
  await neo.crash();
  await neo.restart(spending(5));
  assert.equal((await neo.result(id)).tokensSpent, 54);
  assert.deepEqual(await counters(neo), [
    'fleet_task_admissions_total{decision="accepted",reason="none"} 1',
    'fleet_tasks_total{model_tier="sonnet",status="done"} 1',
    'fleet_tokens_spent_total{caller="operator",model_tier="sonnet",type="input"} 45',
    'fleet_tokens_spent_total{caller="operator",model_tier="sonnet",type="output"} 9',
  ]);
});

it('a terminal event that was not written counts nothing, and counts when it is', async (t) => {
  let failing = true;
  const neo = await profile(t, {
    script: spending(5),
    ledger: (real) => ({
      ...real,
      async append(id, event, change) {
        if (!failing || event.type !== 'done') return real.append(id, event, change);
        throw new Error('the process ended here');
      },
    }),
  });
  const id = await neo.send(dispatching());
  await neo.event(id, 'started');
  await neo.crash();
  assert.deepEqual(
    (await counters(neo)).filter((line) => !line.includes('tokens_spent')),
    [],
  );
  failing = false;
  await neo.restart();
  assert.equal((await neo.result(id)).status, 'done');
  assert.ok((await counters(neo)).includes('fleet_tasks_total{model_tier="sonnet",status="done"} 1'));
});
