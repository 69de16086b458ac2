import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { until } from '../support/fleet.ts';
import { startProfile } from '../support/lone-profile.ts';
import { call, dispatch, message, resultOf } from '../support/rpc.ts';

interface Figures {
  readonly tokens_per_day: number | null;
  readonly spent: number;
  readonly reserved: number;
  readonly left: number | null;
}

interface Spending {
  readonly day: string;
  readonly frees_at: string;
  readonly own: Figures;
  readonly callers: { readonly operator: Figures };
}

/** A day that ends while the test runs would free what was spent. */
const NEAR_MIDNIGHT_MS = 60_000;
const LIMIT = 100_000;
const BUDGET = 60_000;

test('a ceiling holds over HTTP, and its figures are the same after kill -9, in metrics and in fleet doctor', async (t) => {
  const leftOfDay = 86_400_000 - (Date.now() % 86_400_000);
  if (leftOfDay < NEAR_MIDNIGHT_MS) await systemClock.sleep(leftOfDay);
  const neo = await startProfile(t, {
    name: 'neo',
    fleet: { spending: { tokens_per_day: LIMIT, callers: { operator: { tokens_per_day: LIMIT } } } },
  });
  const send = async (options: Parameters<typeof dispatch>[0]) =>
    (await call(neo, 'SendMessage', message(dispatch(options), { returnImmediately: true }))).body.result
      .task;
  const figures = async (): Promise<Spending> => {
    const answer = await fetch(`${neo.url}/fleet/spending`, {
      headers: { authorization: `Bearer ${neo.token}` },
    });
    assert.equal(answer.status, 200);
    return (await answer.json()) as Spending;
  };
  const task = { token_budget: BUDGET };
  // The task asks and waits: it has spent some of its budget, and spends nothing more.
  const asking = await send({ brief: '```tool ask_caller\n{"question": "Which room?"}\n```', task });
  await until(async () => {
    const { body } = await call(neo, 'GetTask', { id: asking.id });
    return body.result.status.state === 'TASK_STATE_INPUT_REQUIRED';
  }, 'the task to ask');
  const before = await figures();
  assert.deepEqual(Object.keys(before), [
    ...['profile', 'day', 'frees_at', 'tokens_per_task_tree', 'own', 'callers'],
  ]);
  assert.deepEqual(before.own, before.callers.operator);
  assert.ok(before.own.spent > 0 && before.own.spent < 10_000, JSON.stringify(before));
  assert.deepEqual(
    [before.own.tokens_per_day, before.own.spent + before.own.reserved, before.own.left],
    [LIMIT, BUDGET, LIMIT - BUDGET],
  );

  await neo.kill();
  await neo.start();
  const after = await figures();
  assert.deepEqual({ ...after, day: '', frees_at: '' }, { ...before, day: '', frees_at: '' });
  const refused = await send({ brief: 'more', task });
  const { status, tokens_spent, unmet } = resultOf(refused);
  assert.deepEqual([status, tokens_spent], ['blocked', 0]);
  assert.deepEqual(
    unmet?.map(({ kind, name, transient }: Record<string, unknown>) => [kind, name, transient]),
    [
      ['budget', 'callers.operator.tokens_per_day', true],
      ['budget', 'tokens_per_day', true],
    ],
  );
  const { spent, reserved, left } = before.own;
  const page = await (await fetch(`${neo.url}/metrics`)).text();
  for (const [gauge, value] of Object.entries({ ceiling: LIMIT, spent, reserved }))
    for (const labels of ['scope="profile",caller="all"', 'scope="caller",caller="operator"'])
      assert.ok(
        page.includes(`\nfleet_spending_${gauge}_tokens{${labels}} ${value}\n`),
        `${gauge} ${labels}`,
      );
  const found = (await neo.doctor()).filter((line) => line.startsWith('ok spending '));
  const shown = (key: string): string =>
    `ok spending ${key}: ${left} of ${LIMIT} tokens are left on ${after.day} UTC (${spent} spent, ${reserved} reserved by ` +
    'unfinished tasks)';
  assert.deepEqual(found, [shown('tokens_per_day'), shown('callers.operator.tokens_per_day')]);

  await call(neo, 'CancelTask', { id: asking.id });
  assert.deepEqual((await figures()).own, { tokens_per_day: LIMIT, spent, reserved: 0, left: LIMIT - spent });
});
