import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  dispatching,
  type RelayFleet,
  relayFleet,
  type Script,
  spending,
  type TestProfile,
  untilAborted,
} from '@hermes-fleet/gateway/testing';
import type { JsonObject } from '@hermes-fleet/protocol';

const OPERATOR = { name: 'operator', scopes: new Set<string>() };

/** neo and trinity; routing prefers neo. */
const fleet = (
  t: TestContext,
  o: { switch?: JsonObject; neo?: JsonObject; trinity?: JsonObject; script?: Script },
): Promise<RelayFleet> =>
  relayFleet(
    t,
    {
      neo: { script: o.script ?? spending(200), tier: 'sonnet', fleet: limits(o.neo) },
      trinity: { script: spending(200), tier: 'opus', fleet: limits(o.trinity) },
    },
    { fleet: limits(o.switch) },
  );
const limits = (ceilings: JsonObject | undefined): JsonObject => (ceilings ? { spending: ceilings } : {});

const spentBy = (of: TestProfile, caller: string) => of.gateway.spending.view().callers.get(caller);
const send = ({ orchestrator }: RelayFleet, budget: number, routing: JsonObject = {}): Promise<string> =>
  orchestrator.send(dispatching({ token_budget: budget }, { routing: { target: 'auto', ...routing } }));

describe('a ceiling of the caller of a relayed task', () => {
  it('counts the whole tree once, where the task entered', async (t) => {
    const all = await fleet(t, { switch: { callers: { operator: { tokens_per_day: 1_000 } } } });
    const { orchestrator, worker } = all;
    assert.equal((await orchestrator.result(await send(all, 900))).status, 'done');
    assert.deepEqual(spentBy(orchestrator, 'operator'), { limit: 1_000, spent: 200, reserved: 0 });
    assert.deepEqual(spentBy(worker('neo'), 'switch'), { limit: undefined, spent: 200, reserved: 0 });
    assert.equal(orchestrator.gateway.spending.view().profile.spent, 0, 'switch called no model');
    const { status, unmet = [] } = await orchestrator.result(await send(all, 801));
    assert.deepEqual([status, unmet[0]?.name], ['blocked', 'callers.operator.tokens_per_day']);
    assert.deepEqual(worker('neo').runs.length + worker('trinity').runs.length, 1);
  });

  it('counts the reservation of a task that is with a peer, before and after a restart', async (t) => {
    const started = Promise.withResolvers<void>();
    const script: Script = async (task, context) => {
      started.resolve();
      return untilAborted(task, context);
    };
    const all = await fleet(t, { script, switch: { callers: { operator: { tokens_per_day: 1_000 } } } });
    const { orchestrator } = all;
    const id = await send(all, 700, { target: 'neo' });
    await started.promise;
    const before = spentBy(orchestrator, 'operator');
    assert.deepEqual(before, { limit: 1_000, spent: 0, reserved: 700 });
    await orchestrator.crash();
    await orchestrator.restart();
    assert.deepEqual(spentBy(orchestrator, 'operator'), before);
    assert.equal((await orchestrator.result(await send(all, 301))).status, 'blocked');
    await orchestrator.gateway.cancel(id, OPERATOR);
    assert.equal(spentBy(orchestrator, 'operator')?.reserved, 0);
  });
});

describe("a ceiling of a worker's own model calls", () => {
  it('sends the task to the next worker, without a token, and is asked again once it may be free', async (t) => {
    const all = await fleet(t, { neo: { tokens_per_day: 500 } });
    const { orchestrator, worker } = all;
    const {
      status,
      executedBy,
      attempts = [],
      tokensSpent,
    } = await orchestrator.result(await send(all, 600));
    assert.deepEqual([status, executedBy, tokensSpent], ['done', 'trinity', 200]);
    assert.deepEqual(
      attempts.map(({ peer, status: each, tokensSpent: spent }) => [peer, each, spent]),
      [
        ['neo', 'blocked', 0],
        ['trinity', 'done', 200],
      ],
    );
    assert.match(attempts[0]?.reason ?? '', /fleet\.spending\.tokens_per_day of neo .* set token_budget/);
    assert.deepEqual(worker('neo').runs, []);
    assert.equal((await orchestrator.result(await send(all, 500))).executedBy, 'neo');
  });

  it('is handed back if every worker has used up its day: the reason says which ceilings, and when they free', async (t) => {
    const ceilings = { tokens_per_day: 300 };
    const all = await fleet(t, { neo: ceilings, trinity: ceilings });
    const { orchestrator } = all;
    for (const _ of [1, 2]) assert.equal((await orchestrator.result(await send(all, 300))).status, 'done');
    const { status, tokensSpent, unmet = [] } = await orchestrator.result(await send(all, 300));
    assert.deepEqual([status, tokensSpent], ['blocked', 0]);
    const details = unmet.map(({ detail }) => detail).join('\n');
    assert.match(
      details,
      /fleet\.spending\.tokens_per_day of (neo|trinity) .* it frees at \d{4}-\d\d-\d\dT00:00/,
    );
  });

  it('is waited for while unfinished tasks may free it', async (t) => {
    const gate = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const script: Script = async (task, context) => {
      started.resolve();
      await gate.promise;
      return spending(100)(task, context);
    };
    const all = await fleet(t, { script, neo: { tokens_per_day: 1_000 } });
    const { orchestrator, worker } = all;
    const first = await send(all, 800, { target: 'neo' });
    await started.promise;
    const second = await send(all, 800, { target: 'neo', on_blocked: 'queue' });
    await orchestrator.event(second, 'queued', 2);
    assert.equal(worker('neo').runs.length, 1);
    gate.resolve();
    assert.equal((await orchestrator.result(first)).status, 'done');
    // As neo does when its load changes.
    await all.hear('neo');
    assert.equal((await orchestrator.result(second)).status, 'done');
    assert.deepEqual(worker('neo').gateway.spending.view().profile, {
      limit: 1_000,
      spent: 200,
      reserved: 0,
    });
  });
});

describe('a ceiling of task trees', () => {
  it('is the budget of the root, out of which all that it delegates is paid', async (t) => {
    const limitsSeen: (number | undefined)[] = [];
    const script: Script = async (task, context) => {
      limitsSeen.push(context.budget.limit);
      return spending(200)(task, context);
    };
    const all = await fleet(t, { script, switch: { tokens_per_task_tree: 400 } });
    const { orchestrator } = all;
    const id = await orchestrator.send(dispatching({}, { routing: { target: 'neo' } }));
    assert.equal((await orchestrator.result(id)).status, 'done');
    assert.deepEqual(limitsSeen, [400]);
    assert.equal((await orchestrator.result(await send(all, 401))).status, 'blocked');
    assert.equal(limitsSeen.length, 1);
  });
});
