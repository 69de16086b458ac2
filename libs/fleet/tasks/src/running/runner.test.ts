import assert from 'node:assert/strict';
import { it } from 'node:test';
import { DONE, dispatching, profile } from '@hermes-fleet/gateway/testing';
import { systemClock } from '@hermes-fleet/protocol/ports';

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

it('a resumed task whose executor asks for no budget keeps what was spent before', async (t) => {
  const spent = Promise.withResolvers<void>();
  const neo = await profile(t, {
    script: async (_task, { budget }) => {
      const call = await budget.reserve({ inputTokens: 7, maxOutputTokens: 0 });
      await call.settle({ inputTokens: 7, outputTokens: 0, source: 'metered' });
      spent.resolve();
      return new Promise(() => undefined);
    },
  });
  const id = await neo.send(dispatching());
  await spent.promise;
  await neo.crash();
  await neo.restart(async () => DONE);
  const { tokensSpent, usage } = await neo.result(id);
  assert.deepEqual([tokensSpent, usage?.inputTokens], [7, 7]);
});

it('a wall clock that is set back by an hour during a task costs neither its result nor its duration', async (t) => {
  let setBackMs = 0;
  const neo = await profile(t, {
    clock: { ...systemClock, now: () => Date.now() - setBackMs },
    script: async () => {
      await systemClock.sleep(50);
      setBackMs = 3_600_000;
      return DONE;
    },
  });
  const { status, durationMs = 0 } = await neo.result(await neo.send(dispatching()));
  assert.equal(status, 'done');
  assert.ok(durationMs >= 49 && durationMs < 60_000, `${durationMs} ms`);
});

it('a task whose deadline passes before its executor is called is blocked', async (t) => {
  const neo = await profile(t, {
    ledger: (real) => ({
      ...real,
      async append(id, event, change) {
        if (event.type === 'started') await systemClock.sleep(600);
        return real.append(id, event, change);
      },
    }),
  });
  const deadline = new Date(Date.now() + 500).toISOString();
  const { status, unmet } = await neo.result(await neo.send(dispatching({}, { deadline })));
  assert.deepEqual([status, unmet?.[0]?.kind], ['blocked', 'deadline']);
  assert.deepEqual(neo.runs, []);
});
