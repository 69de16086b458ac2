import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { budgetOf, metered } from '../../testing/budget-of.ts';
import { hasCode } from '../../testing/index.ts';
import { FleetError } from '../errors.ts';
import { createBudget } from './budget.ts';
import { noUsage } from './entry.ts';

describe('createBudget', () => {
  it('has no ceiling without a limit', async () => {
    const { budget } = budgetOf(undefined);
    const call = await budget.reserve({ inputTokens: 1_000_000, maxOutputTokens: 1_000_000 });
    assert.equal(budget.remaining(), Number.POSITIVE_INFINITY);
    await call.settle(metered(1, 2));
    assert.equal(budget.spent(), 3);
  });

  it('charges the estimate until it is settled, then the metered tokens', async () => {
    const { budget } = budgetOf(1000);
    const call = await budget.reserve({ inputTokens: 100, maxOutputTokens: 50 });
    assert.equal(budget.spent(), 150);
    assert.equal(budget.usage().source, 'estimated');
    await call.settle(metered(90, 10));
    assert.equal(budget.spent(), 100);
    assert.equal(budget.remaining(), 900);
    assert.equal(budget.usage().source, 'metered');
  });

  it('bounds the output of a call by what remains', async () => {
    const { budget } = budgetOf(1000);
    const call = await budget.reserve({ inputTokens: 900, maxOutputTokens: 4000 });
    assert.equal(call.maxOutputTokens, 100);
    assert.equal(budget.remaining(), 0);
  });

  for (const inputTokens of [1000, 1001]) {
    it(`rejects ${inputTokens} input tokens of 1000, which leave no room for output`, async () => {
      const { budget, store } = budgetOf(1000);
      const message = new RegExp(`${inputTokens} input tokens .* 1000 of the task's 1000`);
      await assert.rejects(
        budget.reserve({ inputTokens, maxOutputTokens: 10 }),
        hasCode('BUDGET_EXHAUSTED', message),
      );
      assert.deepEqual(store.entries('t1'), []);
      assert.equal(budget.spent(), 0);
    });
  }

  it('rejects a second settlement, also while the first is under way', async () => {
    const { budget } = budgetOf(1000);
    const call = await budget.reserve({ inputTokens: 10, maxOutputTokens: 10 });
    const first = call.settle(metered(5, 5));
    assert.equal(budget.spent(), 10, 'a settlement counts at once');
    await assert.rejects(call.settle(metered(500, 5)), hasCode('INTERNAL'));
    await first;
    await assert.rejects(call.settle(metered(500, 5)), hasCode('INTERNAL'));
    assert.equal(budget.spent(), 10);
  });

  it('charges nothing for a reservation that the store rejects', async () => {
    const { budget, failNext } = budgetOf(1000);
    const full = new FleetError('STORE_UNAVAILABLE', 'disk full');
    failNext(full);
    await assert.rejects(budget.reserve({ inputTokens: 900, maxOutputTokens: 10 }), full);
    assert.equal(budget.spent(), 0);
    failNext(full);
    await assert.rejects(budget.addDelegated(10), full);
    assert.equal(budget.spent(), 0);
  });

  it('keeps the estimate when a settlement cannot be written, and settles at the next attempt', async () => {
    const { budget, failNext, store } = budgetOf(1000);
    const call = await budget.reserve({ inputTokens: 100, maxOutputTokens: 100 });
    const full = new FleetError('STORE_UNAVAILABLE', 'disk full');
    failNext(full);
    await assert.rejects(call.settle(metered(1, 1)), full);
    assert.equal(budget.spent(), 200);
    assert.deepEqual(
      store.entries('t1').map(({ source }) => source),
      ['estimated'],
    );
    await call.settle(metered(1, 1));
    assert.equal(budget.spent(), 2);
    assert.deepEqual(
      store.entries('t1').map(({ source }) => source),
      ['metered'],
    );
  });

  for (const bad of [Number.NaN, -1, 0.5, 1e308, Number.MAX_SAFE_INTEGER + 1, Number.POSITIVE_INFINITY]) {
    it(`rejects ${bad} as a number of tokens without a change`, async () => {
      const { budget } = budgetOf(1000);
      await assert.rejects(budget.reserve({ inputTokens: bad, maxOutputTokens: 1 }), hasCode('INTERNAL'));
      await assert.rejects(budget.reserve({ inputTokens: 1, maxOutputTokens: bad }), hasCode('INTERNAL'));
      await assert.rejects(budget.addDelegated(bad), hasCode('INTERNAL'));
      const call = await budget.reserve({ inputTokens: 10, maxOutputTokens: 10 });
      await assert.rejects(call.settle(metered(bad, 1)), hasCode('INTERNAL'));
      assert.equal(budget.spent(), 20);
      await call.settle(metered(1, 1));
      assert.equal(budget.spent(), 2);
    });
  }

  it('rejects an entry that makes the sum inexact, without a change', async () => {
    const { budget, store } = budgetOf(undefined);
    const most = Number.MAX_SAFE_INTEGER;
    const call = await budget.reserve({ inputTokens: 10, maxOutputTokens: 10 });
    await budget.addDelegated(most - 100);
    const before = [budget.spent(), budget.usage(), store.entries('t1')];
    await assert.rejects(budget.addDelegated(most), hasCode('INTERNAL'));
    await assert.rejects(budget.reserve({ inputTokens: most, maxOutputTokens: 1 }), hasCode('INTERNAL'));
    await assert.rejects(call.settle(metered(1, most)), hasCode('INTERNAL'));
    await assert.rejects(call.settle({ ...metered(1, 1), cacheReadTokens: most }), hasCode('INTERNAL'));
    assert.deepEqual([budget.spent(), budget.usage(), store.entries('t1')], before);
    await call.settle(metered(1, 1));
    assert.equal(budget.spent(), most - 98);
  });

  it('reports cache reads and writes separately, and counts them only with countCache', async () => {
    const usage = { ...metered(10, 5), cacheReadTokens: 300, cacheWriteTokens: 40 };
    for (const [countCache, spent] of [
      [false, 15],
      [true, 355],
    ] as const) {
      const { budget } = budgetOf(1000, { countCache });
      await (await budget.reserve({ inputTokens: 10, maxOutputTokens: 5 })).settle(usage);
      assert.equal(budget.spent(), spent);
      assert.deepEqual(budget.usage(), { ...usage, delegatedTokens: 0, model: 'offline/runbook' });
    }
  });

  it('counts delegated tokens as spent and reports them separately', async () => {
    const { budget, store } = budgetOf(1000);
    await budget.addDelegated(400);
    assert.equal(budget.usage().source, 'reported');
    await (await budget.reserve({ inputTokens: 10, maxOutputTokens: 5 })).settle(metered(10, 5));
    await budget.addDelegated(0);
    const { delegatedTokens, inputTokens, outputTokens, source } = budget.usage();
    assert.deepEqual(
      { delegatedTokens, inputTokens, outputTokens, source },
      { delegatedTokens: 400, inputTokens: 10, outputTokens: 5, source: 'metered' },
    );
    assert.equal(budget.spent(), 415);
    assert.deepEqual(
      store.entries('t1').map(({ kind }) => kind),
      ['delegated', 'own'],
    );
  });

  it('knows the tokens of each piece of delegated work, also after a restart', async () => {
    const { budget, store } = budgetOf(1000);
    await budget.addDelegated(40, 'helper#1');
    await budget.addDelegated(2, 'helper#1');
    await budget.addDelegated(7, 'helper#2');
    await budget.addDelegated(100);
    const restarted = createBudget({ taskId: 't1', limit: 1000, store, model: 'offline/runbook' });
    for (const { delegatedTo, spent } of [budget, restarted])
      assert.deepEqual(
        ['helper#1', 'helper#2', 'helper#3'].map(delegatedTo).concat(spent()),
        [42, 7, 0, 149],
      );
  });

  for (const [sources, leastReliable] of [
    [[], 'metered'],
    [['metered', 'metered'], 'metered'],
    [['estimated', 'metered'], 'estimated'],
    [['metered', 'reported', 'estimated'], 'reported'],
  ] as const) {
    it(`reports the source of [${sources}] as ${leastReliable}`, async () => {
      const { budget } = budgetOf(undefined);
      for (const source of sources) {
        const call = await budget.reserve({ inputTokens: 1, maxOutputTokens: 1 });
        await call.settle({ inputTokens: 1, outputTokens: 1, source });
      }
      assert.equal(budget.usage().source, leastReliable);
    });
  }

  it('charges unsettled reservations as estimated after a crash', async () => {
    const { budget, reopen } = budgetOf(1000);
    await (await budget.reserve({ inputTokens: 10, maxOutputTokens: 5 })).settle(metered(10, 5));
    await budget.reserve({ inputTokens: 100, maxOutputTokens: 50 });
    const after = reopen();
    assert.equal(after.spent(), 165);
    assert.equal(after.remaining(), 835);
    assert.equal(after.usage().source, 'estimated');
  });

  it('reports no usage before its first entry, as a task without a budget does', () => {
    const { budget } = budgetOf(undefined);
    assert.deepEqual(noUsage('offline/runbook'), budget.usage());
    assert.deepEqual([budget.usage().inputTokens, budget.usage().source], [0, 'metered']);
  });

  it('reports the model of the latest call', async () => {
    const { budget } = budgetOf(undefined);
    assert.equal(budget.usage().model, 'offline/runbook');
    const call = await budget.reserve({ inputTokens: 1, maxOutputTokens: 1 });
    await call.settle({ ...metered(1, 1), model: 'anthropic/claude' });
    assert.equal(budget.usage().model, 'anthropic/claude');
  });
});
