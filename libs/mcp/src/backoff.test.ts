import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { backoffMs } from './backoff.ts';

it('waits longer after each failure, from half a second to half a minute', () => {
  assert.deepEqual(
    [1, 2, 3, 6, 7, 8, 5000].map((failures) => backoffMs(failures, () => 0.999999)),
    [500, 1000, 2000, 16_000, 30_000, 30_000, 30_000],
  );
});

it('spreads attempts over the upper half of the wait', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (n, r) => {
        const most = backoffMs(n, () => 1);
        const wait = backoffMs(n, () => r);
        assert.ok(wait >= most / 2 && wait <= most);
      },
    ),
  );
});
