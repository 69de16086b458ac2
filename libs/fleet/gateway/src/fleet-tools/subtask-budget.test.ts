import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TokenEntry } from '@hermes-fleet/protocol/ports';
import { createBudget } from '@hermes-fleet/protocol/tokens';
import fc from 'fast-check';
import { sliceOf, subtaskBudget } from './subtask-budget.ts';

function budgetOf(limit: number | undefined, inputTokens: number, delegated: number) {
  const entries: TokenEntry[] = [];
  const entry = { outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, model: 'm' };
  if (inputTokens > 0) entries.push({ ...entry, kind: 'own', inputTokens, source: 'metered' });
  if (delegated > 0)
    entries.push({ ...entry, kind: 'delegated', inputTokens: delegated, source: 'reported' });
  const store = {
    entries: () => entries,
    reserve: async () => '1',
    settle: async () => undefined,
    add: async () => undefined,
  };
  return createBudget({ taskId: 't', limit, store, model: 'm' });
}

const slice = (left: number, own: number, asked?: number) =>
  sliceOf(budgetOf(left + own, own, 0), asked).limit;

describe('the slice of a subtask', () => {
  for (const [what, given, expected] of [
    ['half of what is left', slice(10_000, 500), 5_000],
    ['what is asked for', slice(10_000, 500, 100), 100],
    ['what is asked for, short of what another step takes', slice(10_000, 3_000, 9_999), 7_000],
    [
      'what is asked for, short of a thousand while no step shows what one takes',
      slice(10_000, 0, 9_999),
      9_000,
    ],
    ['half at least, however much the steps have taken', slice(1_000, 90_000, 9_999), 500],
  ] as const)
    it(`is ${what}`, () => assert.equal(given, expected));

  it('has no limit when the run has none, except a requested one', () => {
    assert.deepEqual(sliceOf(budgetOf(undefined, 5, 7), undefined), { limit: undefined, before: 7 });
    assert.deepEqual(sliceOf(budgetOf(undefined, 5, 7), 50), { limit: 50, before: 7 });
  });

  it('is refused when nothing is left', () => {
    assert.throws(() => slice(1, 500), { name: 'ToolError', message: /1 tokens of the budget remain/ });
  });

  it("is never more than requested, or than what is left after the run's reserve", () => {
    fc.assert(
      fc.property(
        fc.nat(100_000),
        fc.nat(100_000),
        fc.integer({ min: 1, max: 200_000 }),
        (left, own, asked) => {
          fc.pre(left >= 2);
          const limit = slice(left, own, asked);
          assert.ok(limit !== undefined && limit >= 1 && limit <= asked && limit < left);
          const open = slice(left, own);
          assert.ok(open !== undefined && open * 2 <= left);
        },
      ),
    );
  });
});

describe('the budget of a subtask', () => {
  it("counts its peers' tokens on the run and on itself, also after a restart", async () => {
    const whole = budgetOf(1_000, 100, 50);
    const made = sliceOf(whole, 200);
    const part = subtaskBudget(whole, made);
    assert.deepEqual([part.spent(), part.remaining(), part.usage().delegatedTokens], [0, 200, 0]);
    await part.addDelegated(150);
    assert.deepEqual([part.spent(), part.remaining(), part.usage().delegatedTokens], [150, 50, 150]);
    assert.deepEqual([whole.spent(), whole.usage().delegatedTokens], [300, 200]);
    assert.equal(subtaskBudget(budgetOf(1_000, 100, 200), made).spent(), 150);
  });

  it('never has more left than the run', async () => {
    const whole = budgetOf(1_000, 0, 0);
    const part = subtaskBudget(whole, sliceOf(whole, 800));
    await whole.reserve({ inputTokens: 700, maxOutputTokens: 0 });
    assert.equal(part.remaining(), 300);
  });
});
