import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withinTime } from './time-limit.ts';

test('returns the value of the work, and throws its error', () => {
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
        throw new RangeError('out of range');
      }),
    RangeError,
  );
});

test('endless work is stopped, and later work runs', () => {
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

test('work that waits for the processor gets more time; computing work does not', () => {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  let tries = 0;
  const kept = withinTime(50, () => {
    tries += 1;
    Atomics.wait(cell, 0, 0, 100);
    return 'done';
  });
  assert.deepEqual(kept, { value: 'done' });
  assert.ok(tries > 1, 'the first attempt timed out');

  const before = process.threadCpuUsage();
  const forever = (): never => {
    for (;;);
  };
  assert.equal(withinTime(50, forever), undefined);
  const { user, system } = process.threadCpuUsage(before);
  assert.ok((user + system) / 1000 < 12 * 50, 'not every attempt was used');
});
