import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FleetError, type TokenEntry, type TokenStore } from '@hermes-fleet/protocol';
import fc from 'fast-check';
import { createBudget } from './index.ts';

/** A store as the ledger keeps it, in memory: what it holds survives the budgets that are opened over it. */
function memoryStore() {
  const rows = new Map<string, { taskId: string; entry: TokenEntry }>();
  const faults: Error[] = [];
  const write = async (change: () => void): Promise<void> => {
    await Promise.resolve();
    const fault = faults.shift();
    if (fault) throw fault;
    change();
  };
  const put = (taskId: string, entry: TokenEntry): string => {
    const id = `r${rows.size}`;
    rows.set(id, { taskId, entry });
    return id;
  };
  const store: TokenStore = {
    entries: (taskId) =>
      [...rows.values()].filter((row) => row.taskId === taskId).map((row) => ({ ...row.entry })),
    reserve: async (taskId, estimate) => {
      let id = '';
      await write(() => {
        id = put(taskId, estimate);
      });
      return id;
    },
    settle: (id, actual) =>
      write(() => {
        const row = rows.get(id);
        assert.ok(row, `reservation ${id} exists`);
        rows.set(id, { ...row, entry: actual });
      }),
    add: (taskId, entry) =>
      write(() => {
        put(taskId, entry);
      }),
  };
  return { store, failNext: (error: Error) => faults.push(error) };
}

type Extra = Partial<Parameters<typeof createBudget>[0]>;
function budgetOf(limit: number | undefined, extra: Extra = {}) {
  const { store, failNext } = memoryStore();
  const options = { taskId: 't1', limit, store, model: 'offline/runbook', ...extra };
  return { budget: createBudget(options), reopen: () => createBudget(options), store, failNext };
}

const metered = (inputTokens: number, outputTokens: number) =>
  ({ inputTokens, outputTokens, source: 'metered' }) as const;
const hasCode = (code: string) => (error: unknown) => error instanceof FleetError && error.code === code;

describe('createBudget', () => {
  it('has no ceiling without a limit', async () => {
    const { budget } = budgetOf(undefined);
    const call = await budget.reserve({ inputTokens: 1_000_000, maxOutputTokens: 1_000_000 });
    assert.equal(budget.remaining(), Number.POSITIVE_INFINITY);
    await call.settle(metered(1, 2));
    assert.equal(budget.spent(), 3);
  });

  it('charges the estimate until it is settled, then what was metered', async () => {
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
    it(`refuses ${inputTokens} input tokens of 1000: no output would fit`, async () => {
      const { budget, store } = budgetOf(1000);
      await assert.rejects(budget.reserve({ inputTokens, maxOutputTokens: 10 }), (error) => {
        assert.ok(hasCode('BUDGET_EXHAUSTED')(error));
        assert.match(String(error), new RegExp(`${inputTokens} input tokens .* 1000 of the task's 1000`));
        return true;
      });
      assert.deepEqual(store.entries('t1'), []);
      assert.equal(budget.spent(), 0);
    });
  }

  it('refuses to settle twice, and while a settlement is under way', async () => {
    const { budget } = budgetOf(1000);
    const call = await budget.reserve({ inputTokens: 10, maxOutputTokens: 10 });
    const first = call.settle(metered(5, 5));
    await assert.rejects(call.settle(metered(500, 5)), hasCode('INTERNAL'));
    await first;
    await assert.rejects(call.settle(metered(500, 5)), hasCode('INTERNAL'));
    assert.equal(budget.spent(), 10);
  });

  it('holds nothing for a reservation that the store refused', async () => {
    const { budget, failNext } = budgetOf(1000);
    const full = new FleetError('STORE_UNAVAILABLE', 'disk full');
    failNext(full);
    await assert.rejects(budget.reserve({ inputTokens: 900, maxOutputTokens: 10 }), full);
    assert.equal(budget.spent(), 0);
    failNext(full);
    await assert.rejects(budget.addDelegated(10), full);
    assert.equal(budget.spent(), 0);
  });

  it('keeps the estimate when a settlement could not be written, and takes it at the next attempt', async () => {
    const booked: TokenEntry[] = [];
    const { budget, failNext } = budgetOf(1000, { onBooked: (entry) => booked.push(entry) });
    const call = await budget.reserve({ inputTokens: 100, maxOutputTokens: 100 });
    const full = new FleetError('STORE_UNAVAILABLE', 'disk full');
    failNext(full);
    await assert.rejects(call.settle(metered(1, 1)), full);
    assert.equal(budget.spent(), 200);
    assert.deepEqual(booked, []);
    await call.settle(metered(1, 1));
    assert.equal(budget.spent(), 2);
    assert.equal(booked.length, 1);
  });

  for (const bad of [Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY]) {
    it(`refuses ${bad} as a number of tokens and stays as it was`, async () => {
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

  it('reports cache reads and writes apart, and counts them only when told to', async () => {
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

  it('counts delegated tokens as spent and reports them apart', async () => {
    const booked: TokenEntry['kind'][] = [];
    const { budget } = budgetOf(1000, { onBooked: (entry) => booked.push(entry.kind) });
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
    assert.deepEqual(booked, ['delegated', 'own']);
  });

  for (const [sources, weakest] of [
    [[], 'metered'],
    [['metered', 'metered'], 'metered'],
    [['estimated', 'metered'], 'estimated'],
    [['metered', 'reported', 'estimated'], 'reported'],
  ] as const) {
    it(`calls a usage of [${sources}] ${weakest}`, async () => {
      const { budget } = budgetOf(undefined);
      for (const source of sources) {
        const call = await budget.reserve({ inputTokens: 1, maxOutputTokens: 1 });
        await call.settle({ inputTokens: 1, outputTokens: 1, source });
      }
      assert.equal(budget.usage().source, weakest);
    });
  }

  it('charges after a restart what a crash left unsettled, as estimated', async () => {
    const { budget, reopen } = budgetOf(1000);
    await (await budget.reserve({ inputTokens: 10, maxOutputTokens: 5 })).settle(metered(10, 5));
    await budget.reserve({ inputTokens: 100, maxOutputTokens: 50 });
    const after = reopen();
    assert.equal(after.spent(), 165);
    assert.equal(after.remaining(), 835);
    assert.equal(after.usage().source, 'estimated');
  });

  it('names the model of the newest call', async () => {
    const { budget } = budgetOf(undefined);
    assert.equal(budget.usage().model, 'offline/runbook');
    const call = await budget.reserve({ inputTokens: 1, maxOutputTokens: 1 });
    await call.settle({ ...metered(1, 1), model: 'anthropic/claude' });
    assert.equal(budget.usage().model, 'anthropic/claude');
  });
});

const tokens = fc.nat({ max: 500 });
const step = fc.oneof(
  fc.record({
    kind: fc.constant('call' as const),
    inputTokens: tokens,
    maxOutputTokens: tokens,
    usage: fc.option(
      fc.record({
        inputTokens: tokens,
        outputTokens: tokens,
        cacheReadTokens: tokens,
        cacheWriteTokens: tokens,
        source: fc.constantFrom('metered', 'estimated', 'reported'),
      }),
      { nil: undefined },
    ),
  }),
  fc.record({ kind: fc.constant('delegated' as const), tokens }),
);

describe('the arithmetic of a budget', () => {
  it('agrees with the sum of the entries after every step, and after a restart', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 30 }),
        fc.option(fc.integer({ min: 1, max: 3000 }), { nil: undefined }),
        fc.boolean(),
        async (steps, limit, countCache) => {
          const { budget, reopen, store } = budgetOf(limit, { countCache });
          for (const s of steps) {
            if (s.kind === 'delegated') await budget.addDelegated(s.tokens);
            else {
              const call = await budget.reserve(s).catch((error) => {
                assert.ok(hasCode('BUDGET_EXHAUSTED')(error));
                assert.ok(s.inputTokens + Math.min(1, s.maxOutputTokens) > budget.remaining());
                return undefined;
              });
              if (call && s.usage) await call.settle(s.usage);
            }
            const sum = store
              .entries('t1')
              .reduce(
                (total, e) =>
                  total +
                  e.inputTokens +
                  e.outputTokens +
                  (countCache ? e.cacheReadTokens + e.cacheWriteTokens : 0),
                0,
              );
            assert.equal(budget.spent(), sum);
            assert.equal(
              budget.remaining(),
              limit === undefined ? Number.POSITIVE_INFINITY : Math.max(0, limit - sum),
            );
            const again = reopen();
            assert.equal(again.spent(), sum);
            assert.deepEqual(again.usage(), budget.usage());
          }
        },
      ),
    );
  });

  it('never lets concurrent reservations pass the ceiling together', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 2000 }),
        fc.array(fc.record({ inputTokens: tokens, maxOutputTokens: tokens }), {
          minLength: 2,
          maxLength: 40,
        }),
        async (limit, calls) => {
          const { budget, store } = budgetOf(limit);
          const outcomes = await Promise.allSettled(calls.map((call) => budget.reserve(call)));
          const booked = store.entries('t1').reduce((sum, e) => sum + e.inputTokens + e.outputTokens, 0);
          assert.ok(booked <= limit, `${booked} of ${limit}`);
          assert.equal(budget.spent(), booked);
          for (const o of outcomes)
            if (o.status === 'rejected') assert.ok(hasCode('BUDGET_EXHAUSTED')(o.reason));
        },
      ),
    );
  });

  it('overshoots by no more than what one settlement exceeds its estimate', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3000 }),
        fc.array(fc.record({ inputTokens: tokens, maxOutputTokens: tokens, error: tokens }), {
          maxLength: 30,
        }),
        async (limit, calls) => {
          const { budget } = budgetOf(limit);
          let worst = 0;
          for (const { error, ...call } of calls) {
            const reservation = await budget.reserve(call).catch(() => undefined);
            if (!reservation) continue;
            await reservation.settle(metered(call.inputTokens + error, reservation.maxOutputTokens));
            worst = Math.max(worst, error);
          }
          assert.ok(budget.spent() <= limit + worst, `${budget.spent()} of ${limit} + ${worst}`);
          assert.ok(budget.remaining() >= 0);
        },
      ),
    );
  });
});
