import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withinTime } from './time-limit.ts';

test('gives what the work gives, and throws what it throws', () => {
  assert.deepEqual(
    withinTime(10_000, () => 7),
    { value: 7 },
  );
  assert.deepEqual(
    withinTime(10_000, () => undefined),
    { value: undefined },
  );
  assert.throws(
    () =>
      withinTime(10_000, () => {
        throw new RangeError('mine');
      }),
    RangeError,
  );
});

test('work that does not end is stopped, and what comes after it runs', () => {
  const forever = (): never => {
    for (;;);
  };
  assert.equal(withinTime(20, forever), undefined);
  assert.equal(
    withinTime(20, () => /^(a+)+$/.test(`${'a'.repeat(60)}!`)),
    undefined,
  );
  assert.deepEqual(
    withinTime(10_000, () => 7),
    { value: 7 },
  );
});
