import assert from 'node:assert/strict';
import { it } from 'node:test';
import { DONE, dispatching, profile } from '@hermes-fleet/fleet/testing';

it('a task without a budget gets the default budget', async (t) => {
  const limits: (number | undefined)[] = [];
  const neo = await profile(t, {
    defaultBudget: 5_000,
    script: async (_task, { budget }) => {
      limits.push(budget.limit);
      return DONE;
    },
  });
  await neo.result(await neo.send(dispatching()));
  await neo.result(await neo.send(dispatching({ token_budget: 300 })));
  assert.deepEqual(limits, [5_000, 300]);
});
