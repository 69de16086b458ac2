import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBudget } from '@hermes-fleet/protocol/tokens';
import fc from 'fast-check';
import { memoryTokens } from '../../testing/harness.ts';
import { sliceBudget, sliceTokens } from './delegate-tool.ts';

test('a slice is the requested amount or a third, and leaves the caller enough', () => {
  const slice = (remainingTokens: number, callerNeedsTokens: number, askedTokens?: number): number =>
    sliceTokens({ remainingTokens, callerNeedsTokens, askedTokens });
  assert.equal(slice(9000, 1000), 3000);
  assert.equal(slice(9000, 1000, 5000), 5000);
  assert.equal(slice(9000, 1000, 50_000), 8000);
  assert.equal(slice(9000, 7000), 2000);
  assert.equal(slice(9000, 9500), 0);
  assert.equal(slice(Number.POSITIVE_INFINITY, 1000), Number.POSITIVE_INFINITY);
  assert.equal(slice(Number.POSITIVE_INFINITY, 1000, 500), 500);
});

const tokens = fc.nat({ max: 800 });
const usage = (inputTokens: number, outputTokens: number) => ({
  inputTokens,
  outputTokens,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  source: 'metered' as const,
});

test('neither a slice nor the whole budget exceeds its limit, and the caller keeps its share', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.option(fc.integer({ min: 1, max: 6000 }), { nil: undefined }),
      fc.nat({ max: 3000 }),
      fc.option(fc.integer({ min: 1, max: 8000 }), { nil: undefined }),
      fc.array(
        fc.record({ input: tokens, output: tokens, part: fc.double({ min: 0, max: 1, noNaN: true }) }),
        {
          maxLength: 20,
        },
      ),
      async (limit, needs, askedTokens, calls) => {
        const whole = createBudget({ taskId: 't', limit, store: memoryTokens(), model: 'm' });
        const remainingTokens = whole.remaining();
        const size = sliceTokens({ remainingTokens, callerNeedsTokens: needs, askedTokens });
        assert.ok(size >= 0 && size <= remainingTokens);
        const slice = sliceBudget(whole, size);
        for (const { input, output, part } of calls) {
          const before = slice.remaining();
          const call = await slice
            .reserve({ inputTokens: input, maxOutputTokens: output })
            .catch((error: Error) => {
              assert.match(error.message, /does not fit/);
              assert.ok(input + Math.min(1, output) > before, 'a call that fits was refused');
            });
          if (call) await call.settle(usage(input, Math.floor(Math.min(output, before - input) * part)));
          assert.ok(whole.spent() <= size, `${whole.spent()} of ${size}`);
          if (limit !== undefined && size > 0)
            assert.ok(whole.remaining() >= needs, `${whole.remaining()} left of ${needs} needed`);
        }
      },
    ),
    { numRuns: 300 },
  );
});
