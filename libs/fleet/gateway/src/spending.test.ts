import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { type Caller, systemClock } from '@hermes-fleet/protocol/ports';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import { routes } from '../testing/fleet-routes.ts';
import { dispatching } from '../testing/messages.ts';
import { spending } from '../testing/relay-fleet.ts';
import { CALLER, DONE, type Script, untilAborted } from '../testing/scripts.ts';
import type { ProfileOptions } from '../testing/test-profile.ts';

const HOUR_MS = 3_600_000;
const SWITCH: Caller = { name: 'switch', scopes: CALLER.scopes };
/** A caller beside the operator. */
const agents = { switch: 1 };

/** 12:00 UTC of some day, and later as the test says. */
function noon() {
  let ahead = Date.parse('2026-05-31T12:00:00Z') - Date.now();
  return {
    clock: { ...systemClock, now: () => Date.now() + ahead },
    advance: (ms: number): void => {
      ahead += ms;
    },
  };
}

/** Spends the brief's number of tokens, then runs until it is canceled. */
function hanging() {
  const spent = new Map<string, PromiseWithResolvers<void>>();
  const at = (id: string): PromiseWithResolvers<void> => {
    const known = spent.get(id) ?? Promise.withResolvers<void>();
    spent.set(id, known);
    return known;
  };
  const script: Script = async (task, context) => {
    const tokens = Number(task.dispatch.brief);
    if (context.budget.spent() === 0 && tokens > 0) await spending(tokens)(task, context);
    at(task.id).resolve();
    return untilAborted(task, context);
  };
  return { script, spent: (id: string) => at(id).promise };
}

/** A profile with these ceilings, and its answer at /fleet/spending. */
async function limited(t: TestContext, ceilings: JsonObject, o: ProfileOptions = {}) {
  const { one, ask } = await routes(t, {
    agents,
    clock: noon().clock,
    ...o,
    fleet: { spending: ceilings, ...o.fleet },
  });
  const send = (budget: number | undefined, brief = '0', caller = CALLER): Promise<string> =>
    one.send(dispatching(budget === undefined ? {} : { token_budget: budget }, { brief }), caller);
  const refused = async (id: string) => {
    const { status, tokensSpent, unmet = [] } = await one.result(id);
    assert.deepEqual([status, tokensSpent, unmet.length], ['blocked', 0, 1], JSON.stringify(unmet));
    const { kind, name, detail, transient } = unmet[0] ?? assert.fail();
    assert.equal(kind, 'budget');
    return { name, detail, transient };
  };
  const left = async () => (await ask('GET', '/fleet/spending')).body;
  return { one, ask, send, refused, left };
}

const day = (limit: number, spent: number, reserved: number) => ({
  tokens_per_day: limit,
  spent,
  reserved,
  left: Math.max(0, limit - spent - reserved),
});

describe('a ceiling on the tokens of a caller and day', () => {
  const ceilings = { callers: { operator: { tokens_per_day: 1_000 } } };

  it('counts what was spent and what unfinished tasks may spend; an end frees the rest', async (t) => {
    const { script, spent } = hanging();
    const { clock } = noon();
    const { one, send, refused, left } = await limited(t, ceilings, { script, clock });
    const first = await send(600, '100');
    await spent(first);
    assert.deepEqual((await left()).callers.operator, day(1_000, 100, 500));
    const second = await send(600);
    assert.deepEqual(await refused(second), {
      name: 'callers.operator.tokens_per_day',
      detail:
        'fleet.spending.callers.operator.tokens_per_day of neo allows 1000 tokens a day: 400 are left (100 spent, 500 ' +
        'reserved by unfinished tasks), and the task may spend 600; it frees as unfinished tasks end with tokens left, or at ' +
        '2026-06-01T00:00:00.000Z',
      transient: true,
    });
    const third = await send(400);
    assert.deepEqual((await left()).callers.operator, day(1_000, 100, 900));
    await spent(await send(5_000, '0', SWITCH));
    for (const id of [first, third]) await one.gateway.cancel(id, CALLER);
    assert.deepEqual((await left()).callers.operator, day(1_000, 100, 0));
    await spent(await send(900));
    assert.deepEqual(one.runs.includes(second), false);
  });

  it('says that only the next day frees what is spent, and that no day frees more than the ceiling', async (t) => {
    const { clock } = noon();
    const { one, send, refused } = await limited(t, ceilings, { script: spending(700), clock });
    await one.result(await send(800));
    const spent = await refused(await send(301));
    assert.match(
      spent.detail,
      /300 are left \(700 spent, 0 reserved.* it frees at 2026-06-01T00:00:00\.000Z$/,
    );
    const never = await refused(await send(1_001));
    assert.match(never.detail, /no day has as many: set token_budget to at most 1000$/);
    assert.deepEqual([spent.transient, never.transient], [false, false]);
  });

  it('lets only so many of concurrent dispatches pass as it has tokens for', async (t) => {
    const { script } = hanging();
    const { one, send, left } = await limited(t, ceilings, {
      script,
      fleet: { limits: { queue_depth: 50 } },
    });
    const ids = await Promise.all(Array.from({ length: 20 }, () => send(150)));
    const states = ids.map((id) => one.task(id).state);
    assert.equal(states.filter((state) => state === 'rejected').length, 14, states.join());
    assert.deepEqual((await left()).callers.operator, day(1_000, 0, 900));
  });

  it('does not stop a duplicate of a task that has its tokens, nor take them twice', async (t) => {
    const { script, spent } = hanging();
    const { one, left } = await limited(t, ceilings, { script });
    const message = dispatching({ token_budget: 900 }, { brief: '5' });
    const id = await one.send(message);
    await spent(id);
    assert.equal(await one.send(message), id);
    assert.deepEqual((await left()).callers.operator, day(1_000, 5, 895));
  });

  it('needs a budget: the one of the dispatch, or the default', async (t) => {
    const one = await limited(t, ceilings, { defaultBudget: 300, script: spending(1) });
    assert.equal((await one.one.result(await one.send(undefined))).status, 'done');
    const none = await routes(t, {
      agents,
      fleet: { spending: ceilings },
      defaultBudget: undefined as never,
    });
    const id = await none.one.send(dispatching());
    const { status, blockedReason } = await none.one.result(id);
    assert.equal(status, 'blocked');
    assert.match(
      blockedReason ?? '',
      /1000 tokens a day, and the task has no budget to compare: set token_budget/,
    );
  });

  it('is the same after a crash, which cuts off no task', async (t) => {
    const { script, spent } = hanging();
    const both = { ...ceilings, tokens_per_task_tree: 5_000 };
    const { one, send, refused, left } = await limited(t, both, { script });
    await refused(await send(2_000));
    const first = await send(600, '100');
    await spent(first);
    const waiting = await Promise.all([send(110), send(110), send(110), send(110)]);
    const before = await left();
    assert.deepEqual(before.callers.operator, day(1_000, 100, 830));
    await one.crash();
    await one.restart();
    const view = one.gateway.spending.view();
    assert.deepEqual(
      [view.day, view.callers.get('operator')],
      [before.day, { limit: 1_000, spent: 100, reserved: 830 }],
    );
    const page = await one.metrics();
    const gauges = [...page.matchAll(/^fleet_spending_.* \d+$/gm)].map(([line]) => line);
    assert.deepEqual(gauges.sort(), [
      'fleet_spending_ceiling_tokens{scope="caller",caller="operator"} 1000',
      'fleet_spending_ceiling_tokens{scope="task_tree",caller="all"} 5000',
      'fleet_spending_reserved_tokens{scope="caller",caller="operator"} 830',
      'fleet_spending_reserved_tokens{scope="profile",caller="all"} 830',
      'fleet_spending_spent_tokens{scope="caller",caller="operator"} 100',
      'fleet_spending_spent_tokens{scope="profile",caller="all"} 100',
    ]);
    await refused(await send(200));
    await refused(waiting[3] ?? '');
    for (const id of [first, ...waiting.slice(0, 3)]) await one.gateway.cancel(id, CALLER);
    assert.equal(one.gateway.spending.view().callers.get('operator')?.reserved, 0);
  });

  it('frees the next day; what still runs keeps its reservation', async (t) => {
    const { script, spent } = hanging();
    const { clock, advance } = noon();
    const { one, send, refused, left } = await limited(t, ceilings, { script, clock });
    const running = await send(500, '300');
    await spent(running);
    const done = await send(400, '400');
    await spent(done);
    await one.gateway.cancel(done, CALLER);
    await refused(await send(200));
    advance(12 * HOUR_MS);
    assert.deepEqual((await left()).day, '2026-06-01');
    assert.deepEqual((await left()).callers.operator, day(1_000, 0, 200));
    await spent(await send(800));
    await refused(await send(110));
  });

  it('is not opened by a clock that is set back; the log names both days', async (t) => {
    const { script, spent } = hanging();
    const { clock, advance } = noon();
    const log = recordingLog();
    const { send, refused, left } = await limited(t, ceilings, { script, clock, log });
    await spent(await send(900, '900'));
    advance(-24 * HOUR_MS);
    const { detail } = await refused(await send(200));
    assert.match(detail, /100 are left .* its clock before 2026-05-31, .*it is on 2026-05-30/);
    assert.equal((await left()).day, '2026-05-31');
    const warned = log.entries.filter(({ message }) => /^the clock is on/.test(message));
    assert.deepEqual(
      warned.map(({ level, message }) => [level, message.split(': ')[0]]),
      [['warn', 'the clock is on 2026-05-30, before 2026-05-31, for which tokens are booked']],
    );
  });
});

describe('a ceiling on the tokens of a task tree', () => {
  const ceilings = { tokens_per_task_tree: 500 };

  it('bounds the budget of every task, and is the budget of one without', async (t) => {
    const limits: (number | undefined)[] = [];
    const script: Script = async (_task, { budget }) => {
      limits.push(budget.limit);
      return DONE;
    };
    const { one, ask, send, refused, left } = await limited(t, ceilings, { script });
    const { name, detail, transient } = await refused(await send(501));
    assert.deepEqual([name, transient], ['tokens_per_task_tree', false]);
    assert.match(
      detail,
      /allows 500 tokens for a task and all that it delegates, and the task may spend 501/,
    );
    const unstated = await send(undefined);
    for (const id of [unstated, await send(500)]) assert.equal((await one.result(id)).status, 'done');
    assert.deepEqual(limits, [500, 500]);
    const cost = await ask('GET', `/fleet/tasks/${unstated}/cost`);
    assert.equal(cost.body.budget.token_budget, 500);
    assert.equal((await left()).tokens_per_task_tree, 500);
  });
});

describe('a ceiling on the tokens of a profile and day', () => {
  const ceilings = { tokens_per_day: 1_000 };

  it("counts the profile's own model calls, whoever sent the task, and not what its peers spent", async (t) => {
    const script: Script = async (task, context) => {
      await context.budget.addDelegated(100);
      return spending(300)(task, context);
    };
    const { one, send, refused, left } = await limited(t, ceilings, { script });
    // A reservation may become own calls, whatever the task delegates in the end.
    await refused(await send(1_001));
    await one.result(await send(800));
    await one.result(await send(700, '0', SWITCH));
    assert.deepEqual((await left()).own, day(1_000, 600, 0));
    const { name, detail } = await refused(await send(401, '0', SWITCH));
    assert.deepEqual([name, /400 are left/.test(detail)], ['tokens_per_day', true]);
    const none = { tokens_per_day: null, spent: 400, reserved: 0, left: null };
    assert.deepEqual((await left()).callers, { operator: none, switch: none });
  });

  it('is part of what /fleet/route says, without a reservation', async (t) => {
    const { ask, left } = await limited(t, ceilings);
    const asked = (await dispatching({ token_budget: 1_001 })).data?.[0]?.data;
    const { body } = await ask('POST', '/fleet/route', asked);
    assert.deepEqual([body.chosen, body.unmet[0]?.name], [null, 'tokens_per_day']);
    assert.deepEqual((await left()).own, day(1_000, 0, 0));
  });
});

it('every ceiling that a task would exceed is named', async (t) => {
  const ceilings = {
    tokens_per_day: 10,
    tokens_per_task_tree: 20,
    callers: { operator: { tokens_per_day: 30 } },
  };
  const { one, send } = await limited(t, ceilings, { script: spending(1) });
  const { unmet = [] } = await one.result(await send(200));
  assert.deepEqual(
    unmet.map(({ name }) => name),
    ['tokens_per_task_tree', 'callers.operator.tokens_per_day', 'tokens_per_day'],
  );
});
