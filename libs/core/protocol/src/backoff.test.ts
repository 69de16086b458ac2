import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { backoffMs } from './backoff.ts';

it('the delay doubles with each failure, up to a bound', () => {
  const options = { firstMs: 100, longestMs: 1_000, random: () => 1 };
  assert.deepEqual(
    [1, 2, 3, 4, 5, 99].map((failures) => backoffMs(failures, options)),
    [100, 200, 400, 800, 1_000, 1_000],
  );
});

it('jitter removes at most half of the delay', () => {
  const random = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5_000 }), random, (failures, value) => {
      const bounds = { firstMs: 500, longestMs: 30_000 };
      const longest = backoffMs(failures, { ...bounds, random: () => 1 });
      const delay = backoffMs(failures, { ...bounds, random: () => value });
      assert.ok(delay >= longest / 2 && delay <= longest);
    }),
  );
});
