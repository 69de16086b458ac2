import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { budgetOf, metered } from '../../testing/budget-of.ts';
import { hasCode } from '../../testing/index.ts';

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
  it('equals the sum of the entries after every step, and after a restart', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 30 }),
        fc.option(fc.integer({ min: 1, max: 3000 }), { nil: undefined }),
        fc.boolean(),
        async (steps, limit, countCache) => {
          const { budget, reopen, store } = budgetOf(limit, { countCache });
          for (const each of steps) {
            if (each.kind === 'delegated') await budget.addDelegated(each.tokens);
            else {
              const call = await budget.reserve(each).catch((error) => {
                assert.ok(hasCode('BUDGET_EXHAUSTED')(error));
                assert.ok(each.inputTokens + Math.min(1, each.maxOutputTokens) > budget.remaining());
                return undefined;
              });
              if (call && each.usage) await call.settle(each.usage);
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

  it('never lets concurrent reservations exceed the ceiling together', async () => {
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
          for (const outcome of outcomes)
            if (outcome.status === 'rejected') assert.ok(hasCode('BUDGET_EXHAUSTED')(outcome.reason));
        },
      ),
    );
  });

  it('exceeds the ceiling by no more than one settlement exceeds its estimate', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3000 }),
        // Every call has input; one of no tokens at all would fit an overdrawn budget again and again.
        fc.array(
          fc.record({
            inputTokens: fc.integer({ min: 1, max: 500 }),
            maxOutputTokens: tokens,
            error: tokens,
          }),
          { maxLength: 30 },
        ),
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
