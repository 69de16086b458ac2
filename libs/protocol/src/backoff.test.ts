import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { backoffMs } from './backoff.ts';

it('a pause doubles with each failure, up to a bound', () => {
  const o = { firstMs: 100, longestMs: 1_000, random: () => 1 };
  assert.deepEqual(
    [1, 2, 3, 4, 5, 99].map((n) => backoffMs(n, o)),
    [100, 200, 400, 800, 1_000, 1_000],
  );
});

it('chance spreads a pause over its upper half', () => {
  const chance = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5_000 }), chance, (failures, r) => {
      const bounds = { firstMs: 500, longestMs: 30_000 };
      const most = backoffMs(failures, { ...bounds, random: () => 1 });
      const pause = backoffMs(failures, { ...bounds, random: () => r });
      assert.ok(pause >= most / 2 && pause <= most);
    }),
  );
});
